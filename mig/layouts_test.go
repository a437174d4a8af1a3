// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
)

// layouts calls visit with every set of partitions that fit beside each other,
// the empty one too. The slice is valid during the call.
func layouts(g mig.Geometry, visit func([]mig.Partition)) {
	all := g.Partitions()
	var extend func(live []mig.Partition, from int)
	extend = func(live []mig.Partition, from int) {
		visit(live)
		for i := from; i < len(all); i++ {
			if g.Fits(live, all[i]) == nil {
				extend(append(live, all[i]), i+1)
			}
		}
	}
	extend(make([]mig.Partition, 0, len(all)), 0)
}

// tally is what there is to count about a geometry.
type tally struct{ placed, maximal, multisets int }

func count(g mig.Geometry) tally {
	all := g.Partitions()
	var n tally
	multisets := map[string]bool{}
	layouts(g, func(live []mig.Partition) {
		n.placed++
		if slices.ContainsFunc(all, func(p mig.Partition) bool { return g.Fits(live, p) == nil }) {
			return
		}
		n.maximal++
		var ids []int
		for _, p := range live {
			ids = append(ids, p.Profile)
		}
		slices.Sort(ids)
		multisets[fmt.Sprint(ids)] = true
	})
	n.multisets = len(multisets)
	return n
}

// The numbers were found by enumeration of NVIDIA's tables under the rules of
// Fits, apart from this code. Placed layouts include the empty one. 19 is also
// the number of rows in NVIDIA's figure of what an A100 can become.
func TestTheLayoutsOfEachPartAreAllThatNVIDIAsTablesAllow(t *testing.T) {
	tests := []struct {
		product string
		want    tally
	}{
		{"A30-24", tally{placed: 76, maximal: 17, multisets: 8}},
		{"A100-40", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"A100-80", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"H100-80", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"H200-141", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"H100-NVL-94", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"GH200-96", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"B200-180", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"GB200-186", tally{placed: 2319, maximal: 239, multisets: 64}},
		{"RTX-PRO-6000", tally{placed: 717, maximal: 302, multisets: 64}},
	}
	for _, tt := range tests {
		t.Run(tt.product, func(t *testing.T) {
			if got := count(geometry(t, tt.product)); got != tt.want {
				t.Errorf("counted %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTheFiveClassicProfilesOfAnA100HaveNineteenMaximalLayouts(t *testing.T) {
	var classic mig.Geometry
	for _, p := range geometry(t, "A100-40") {
		if slices.Contains([]string{"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, p.Name) {
			classic = append(classic, p)
		}
	}
	if got := count(classic); got.maximal != 19 || got.multisets != 14 {
		t.Errorf("counted %+v, want 19 maximal layouts and 14 multisets", got)
	}
}
