// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math"
	"testing"
)

// See regular.
func TestThePaceOfTheBarsIsThatWhichTheyWereSetFor(t *testing.T) {
	tb := newTestTable(t)
	names := newTestNodes(t, tb).contenders(tb)[0]
	r := result{setting: settings()[0], layouts: map[string][]outcome{}}
	for seed := range 4 {
		o, err := once(t.Context(), tb, r.setting, names, seed, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		r.layouts[byNames] = append(r.layouts[byNames], o)
	}
	squares := math.Pow(r.mean(byNames, held)-68.8, 2)
	known := map[string]float64{"3g.40gb": 90, "4g.40gb": 65, "7g.80gb": 46}
	for profile, want := range known {
		squares += math.Pow(r.mean(byNames, accepted(tb.id(t, profile)))-want, 2)
	}
	if rms := math.Sqrt(squares / 4); rms > 1.5 {
		t.Errorf("the figures are %.2f points from the known ones", rms)
	}
}

// The bench has more claims and the bar; these are enough to tell half of it from
// chance.
func TestOurOrderAcceptsMoreFor4g(t *testing.T) {
	tb := newTestTable(t)
	n := newTestNodes(t, tb)
	first := settings()[0]
	r := result{setting: first, layouts: map[string][]outcome{}}
	for _, c := range n.contenders(tb)[:2] {
		for seed := range 4 {
			o, err := once(t.Context(), tb, first, c, seed, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			r.layouts[c.layout] = append(r.layouts[c.layout], o)
		}
	}
	gain, stderr := r.over(bySpace, byNames, accepted(tb.id(t, "4g.40gb")))
	if gain < 3*stderr || gain < fourBar/2 {
		t.Errorf("ours accepts %s points more for 4g", plusMinus(gain, stderr))
	}
}
