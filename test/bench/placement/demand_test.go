// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math"
	"testing"
)

func TestDemandIsAsMuchAsTheLoadSays(t *testing.T) {
	tb := newTestTable(t)
	const n = 50_000
	for _, s := range settings() {
		t.Run(s.String(), func(t *testing.T) {
			claims, err := demand(s, tb, gpus, 3, n)
			if err != nil {
				t.Fatal(err)
			}
			counted, total, before := 0, 0.0, 0.0
			asked := map[int]int{}
			for _, c := range claims {
				if c.at < before {
					t.Fatalf("a claim at %v comes after one at %v", c.at, before)
				}
				before = c.at
				if c.at >= warmUp {
					counted++
				}
				total += c.stays * tb.compute(c.profile)
				asked[c.profile]++
			}
			if counted != n {
				t.Errorf("%d claims come after the warm-up, want %d", counted, n)
			}
			if got := total / before / gpus; math.Abs(got-s.load) > 0.03*s.load {
				t.Errorf("the claims ask for %.3f of the compute slices", got)
			}
			for _, a := range s.mix.asks {
				if got := float64(asked[tb.id(t, a.profile)]) / float64(len(claims)); math.Abs(got-a.share) > 0.01 {
					t.Errorf("%.3f of the claims are for %s, want %.2f", got, a.profile, a.share)
				}
			}
		})
	}
}

func TestTheSharesOfAMixAreAll(t *testing.T) {
	for _, m := range mixes() {
		sum := 0.0
		for _, a := range m.asks {
			sum += a.share
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the shares add up to %v", m.name, sum)
		}
	}
}

func TestAMixForAnotherGPUIsRefused(t *testing.T) {
	g, err := geometryOf("A30-24")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := demand(settings()[0], newTable(g), 1, 1, 1); err == nil || err.Error() != `mix "general": the GPU has no profile 1g.10gb` {
		t.Errorf("error is %v", err)
	}
}
