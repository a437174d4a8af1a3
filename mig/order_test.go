// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/mig"
)

// offered is the order as people read it: a line for each profile.
func offered(g mig.Geometry) []string {
	var lines []string
	last := -1
	for _, p := range g.Partitions() {
		if p.Profile != last {
			profile, _ := g.Profile(p.Profile)
			lines = append(lines, profile.Name+":")
		}
		last = p.Profile
		lines[len(lines)-1] += fmt.Sprintf(" %d", p.Start)
	}
	return lines
}

func TestTheOrderIsSmallBeforeLargeAndKeepsRoomForTheLarge(t *testing.T) {
	tests := []struct {
		product string
		want    []string
	}{
		{"A30-24", []string{"1g.6gb: 3 2 1 0", "1g.6gb+me: 3 2 1 0", "2g.12gb: 2 0", "2g.12gb+me: 2 0", "4g.24gb: 0"}},
		{"A100-40", []string{
			"1g.5gb: 6 5 4 3 2 1 0", "1g.5gb+me: 6 5 4 3 2 1 0", "1g.10gb: 6 4 2 0", "2g.10gb: 4 2 0",
			"3g.20gb: 4 0", "4g.20gb: 0", "7g.40gb: 0",
		}},
		{"H100-80", []string{
			"1g.10gb: 6 5 4 3 2 1 0", "1g.10gb+me: 6 5 4 3 2 1 0", "1g.20gb: 6 4 2 0", "2g.20gb: 4 2 0",
			"3g.40gb: 4 0", "4g.40gb: 0", "7g.80gb: 0",
		}},
		{"RTX-PRO-6000", []string{
			"1g.24gb-me: 9 6 3 0", "1g.24gb: 9 6 3 0", "1g.24gb+gfx: 9 6 3 0", "1g.24gb+me: 9 6 3 0", "1g.24gb+me.all: 9 6 3 0",
			"2g.48gb-me: 6 0", "2g.48gb: 6 0", "2g.48gb+gfx: 6 0", "2g.48gb+me.all: 6 0", "4g.96gb: 0", "4g.96gb+gfx: 0",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.product, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, offered(geometry(t, tt.product))); diff != "" {
				t.Errorf("offered otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAProfileIsOfferedFirstWhereMostOfTheLargerStayPossible(t *testing.T) {
	everyTable(t, func(t *testing.T, g mig.Geometry) {
		for _, profile := range g {
			var first *mig.Partition
			best := -1
			for _, p := range g.Partitions() {
				if p.Profile != profile.ID {
					continue
				}
				if first == nil {
					first = &p
				}
				best = max(best, remaining(g, p))
			}
			if got := remaining(g, *first); got != best {
				t.Errorf("%s is first offered at %d, which leaves %d larger placements; another start leaves %d", profile.Name, first.Start, got, best)
			}
		}
	})
}

// remaining counts the placements of larger profiles beside p.
func remaining(g mig.Geometry, p mig.Partition) int {
	mine, n := p.Size*10+slicesOf(g, p), 0
	for _, q := range g.Partitions() {
		if q.Size*10+slicesOf(g, q) > mine && !q.Overlaps(p.Placement) {
			n++
		}
	}
	return n
}

func slicesOf(g mig.Geometry, p mig.Partition) int {
	profile, _ := g.Profile(p.Profile)
	return profile.Slices
}

func TestEveryPlacementIsOfferedOnceInWhateverOrderTheDriverReports(t *testing.T) {
	everyTable(t, func(t *testing.T, g mig.Geometry) {
		want := g.Partitions()
		var placements int
		for _, p := range g {
			placements += len(p.Placements)
		}
		if unique := slices.CompactFunc(sortedPartitions(want), func(a, b mig.Partition) bool { return a == b }); len(want) != placements || len(unique) != placements {
			t.Fatalf("%d are offered, %d of them different; there are %d placements", len(want), len(unique), placements)
		}
		rapid.Check(t, func(t *rapid.T) {
			shuffled := mig.Geometry(rapid.Permutation(g).Draw(t, "profiles"))
			for i, p := range shuffled {
				shuffled[i].Placements = rapid.Permutation(p.Placements).Draw(t, "placements")
			}
			if diff := cmp.Diff(want, shuffled.Partitions()); diff != "" {
				t.Fatalf("the order follows the driver's (-want +got):\n%s", diff)
			}
		})
	})
}

func sortedPartitions(ps []mig.Partition) []mig.Partition {
	return slices.SortedFunc(slices.Values(ps), func(a, b mig.Partition) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}
