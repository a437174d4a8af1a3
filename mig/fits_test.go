// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/mig"
)

// spot is a partition as a test writes it.
type spot struct {
	name  string
	start int
}

// place puts the profiles on an empty GPU as the scheduler does: one after the
// other, each at the first offered placement with which the rest can be placed
// too. It returns nil where they cannot be.
func place(g mig.Geometry, names ...string) []spot {
	all := g.Partitions()
	var try func(live []mig.Partition, names []string) []spot
	try = func(live []mig.Partition, names []string) []spot {
		if len(names) == 0 {
			return []spot{}
		}
		for _, p := range all {
			profile, _ := g.Profile(p.Profile)
			if profile.Name != names[0] || g.Fits(live, p) != nil {
				continue
			}
			if rest := try(append(slices.Clone(live), p), names[1:]); rest != nil {
				return append([]spot{{profile.Name, p.Start}}, rest...)
			}
		}
		return nil
	}
	return try(nil, names)
}

func TestWhatAClaimAsksForIsPlacedByMemoryAndComputeTogether(t *testing.T) {
	a100 := geometry(t, "A100-40")
	var seven []spot
	for _, start := range []int{0, 1, 2, 3, 4, 5, 6} {
		seven = append(seven, spot{"1g.5gb", start})
	}
	tests := []struct {
		name string
		ask  []string
		want []spot // by start, nil when it cannot be placed
	}{
		{"3g and 4g", []string{"3g.20gb", "4g.20gb"}, []spot{{"4g.20gb", 0}, {"3g.20gb", 4}}},
		{"4g and 3g", []string{"4g.20gb", "3g.20gb"}, []spot{{"4g.20gb", 0}, {"3g.20gb", 4}}},
		{"seven slices whose memory is eleven units", []string{"1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.5gb", "1g.5gb", "1g.5gb"}, nil},
		{"all memory taken by two 3g", []string{"3g.20gb", "3g.20gb", "1g.5gb"}, nil},
		{"two 2g and a 3g", []string{"2g.10gb", "2g.10gb", "3g.20gb"}, []spot{{"2g.10gb", 0}, {"2g.10gb", 2}, {"3g.20gb", 4}}},
		{"a second media engine", []string{"1g.5gb+me", "1g.5gb+me"}, nil},
		{"seven 1g", slices.Repeat([]string{"1g.5gb"}, 7), seven},
		{"eight 1g", slices.Repeat([]string{"1g.5gb"}, 8), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := place(a100, tt.ask...)
			slices.SortFunc(got, func(a, b spot) int { return a.start - b.start })
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(spot{})); diff != "" {
				t.Errorf("placed otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBesideLiveInstancesOnlyWhatTheirUnitsLeaveFits(t *testing.T) {
	h100 := geometry(t, "H100-80")
	live := []mig.Partition{at(t, h100, "1g.10gb", 0), at(t, h100, "1g.10gb", 1), at(t, h100, "1g.10gb", 5)}
	want := map[string][]int{
		"1g.10gb": {2, 3, 4, 6}, "1g.10gb+me": {2, 3, 4, 6}, "1g.20gb": {2, 6}, "2g.20gb": {2},
	}
	got := map[string][]int{}
	for _, p := range h100.Partitions() {
		if h100.Fits(live, p) == nil {
			profile, _ := h100.Profile(p.Profile)
			got[profile.Name] = append(got[profile.Name], p.Start)
			slices.Sort(got[profile.Name])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other starts fit (-want +got):\n%s", diff)
	}
}

func TestARefusalNamesThePartitionAndWhatIsInItsWay(t *testing.T) {
	a100, a30 := geometry(t, "A100-40"), geometry(t, "A30-24")
	onA100 := func(name string, start int) mig.Partition { return at(t, a100, name, start) }
	tests := []struct {
		name string
		g    mig.Geometry
		live []mig.Partition
		p    mig.Partition
		want string
	}{
		{"unknown profile", a100, nil, mig.Partition{Profile: 47, Placement: mig.Placement{Start: 0, Size: 1}},
			"no profile 47: choose one of [19 20 15 14 9 5 0]"},
		{"no profiles at all", nil, nil, mig.Partition{Profile: 19}, "cannot be partitioned"},
		{"start between two placements", a100, nil, mig.Partition{Profile: 14, Placement: mig.Placement{Start: 3, Size: 2}},
			"2g.10gb cannot lie at 3 with 2 units: choose a start of [0 2 4], with 2"},
		{"size of another profile", a100, nil, mig.Partition{Profile: 14, Placement: mig.Placement{Start: 4, Size: 4}},
			"2g.10gb cannot lie at 4 with 4 units: choose a start of [0 2 4], with 2"},
		{"units taken", a100, []mig.Partition{onA100("1g.5gb", 6), onA100("3g.20gb", 0)}, onA100("2g.10gb", 2),
			"2g.10gb at 2 does not fit: 3g.20gb at 0 takes its units"},
		{"the same again", a100, []mig.Partition{onA100("4g.20gb", 0)}, onA100("4g.20gb", 0),
			"4g.20gb at 0 does not fit: 4g.20gb at 0 takes its units"},
		{"most of a profile", a100, []mig.Partition{onA100("1g.5gb+me", 6)}, onA100("1g.5gb+me", 0),
			"1g.5gb+me at 0 does not fit: the GPU has 1 of 1g.5gb+me already, which is the most"},
		{"engine", a30, []mig.Partition{at(t, a30, "1g.6gb+me", 3)}, at(t, a30, "2g.12gb+me", 0),
			"2g.12gb+me at 0 does not fit: it needs 1 jpeg-engines, and 0 of 1 are free"},
		{"live instance of an unreported profile", a100, []mig.Partition{{Profile: 99, Placement: mig.Placement{Start: 6, Size: 1}}}, onA100("1g.5gb", 0),
			"1g.5gb at 0 does not fit: the GPU has an instance of profile 99 at 6, which it does not report: destroy the instance"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.g.Fits(tt.live, tt.p)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want it to say %q", err, tt.want)
			}
		})
	}
}

// No table has a set that only the compute slices forbid; a part might.
func TestComputeSlicesAreNeverPromisedTwice(t *testing.T) {
	half := mig.Profile{ID: 1, Name: "3g.10gb", Slices: 3, Max: 2, Placements: []mig.Placement{{Start: 0, Size: 2}, {Start: 2, Size: 2}}}
	most := mig.Profile{ID: 0, Name: "5g.20gb", Slices: 5, Max: 1, Placements: []mig.Placement{{Start: 0, Size: 4}}}
	g := mig.Geometry{half, most}
	first := mig.Partition{Profile: 1, Placement: half.Placements[0]}
	if err := g.Fits(nil, first); err != nil {
		t.Errorf("the first does not fit: %v", err)
	}
	err := g.Fits([]mig.Partition{first}, mig.Partition{Profile: 1, Placement: half.Placements[1]})
	if want := "3g.10gb at 2 does not fit: it needs 3 compute slices, and 2 of 5 are free"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
