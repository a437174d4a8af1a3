// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/mig"
)

func TestAnH100IsCountedAsTheUpstreamDriverCountsIt(t *testing.T) {
	h100 := geometry(t, "H100-80")
	total := mig.Amounts{
		{Name: "multiprocessors", Value: 132}, {Name: "copy-engines", Value: 8}, {Name: "decoders", Value: 7},
		{Name: "encoders", Value: 0}, {Name: "jpeg-engines", Value: 7}, {Name: "ofa-engines", Value: 1},
		{Name: "memory", Value: 81152 << 20},
		{Name: "memory-slice-0", Value: 1}, {Name: "memory-slice-1", Value: 1}, {Name: "memory-slice-2", Value: 1},
		{Name: "memory-slice-3", Value: 1}, {Name: "memory-slice-4", Value: 1}, {Name: "memory-slice-5", Value: 1},
		{Name: "memory-slice-6", Value: 1}, {Name: "memory-slice-7", Value: 1},
	}
	if diff := cmp.Diff(total, h100.Total()); diff != "" {
		t.Errorf("the whole GPU is counted otherwise (-want +got):\n%s", diff)
	}
	cost, ok := h100.Cost(at(t, h100, "1g.20gb", 4))
	want := mig.Amounts{
		{Name: "multiprocessors", Value: 26}, {Name: "copy-engines", Value: 1}, {Name: "decoders", Value: 1},
		{Name: "encoders", Value: 0}, {Name: "jpeg-engines", Value: 1}, {Name: "ofa-engines", Value: 0},
		{Name: "memory", Value: 20096 << 20}, {Name: "memory-slice-4", Value: 1}, {Name: "memory-slice-5", Value: 1},
	}
	if diff := cmp.Diff(want, cost); !ok || diff != "" {
		t.Errorf("a partition is counted otherwise (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoPartitionOfTheGPUHasNoCost(t *testing.T) {
	a30 := geometry(t, "A30-24")
	for _, p := range []mig.Partition{
		{Profile: 19, Placement: mig.Placement{Start: 0, Size: 1}},
		{Profile: 5, Placement: mig.Placement{Start: 1, Size: 2}},
	} {
		if cost, ok := a30.Cost(p); ok {
			t.Errorf("%+v costs %v", p, cost)
		}
	}
}

func TestCoverHasAsMuchOfEverythingAsBoth(t *testing.T) {
	a := mig.Amounts{{Name: "decoders", Value: 1}, {Name: "memory", Value: 8}}
	b := mig.Amounts{{Name: "memory", Value: 9}, {Name: "memory-slice-3", Value: 1}}
	want := mig.Amounts{{Name: "decoders", Value: 1}, {Name: "memory", Value: 9}, {Name: "memory-slice-3", Value: 1}}
	if diff := cmp.Diff(want, a.Cover(b)); diff != "" {
		t.Errorf("covered otherwise (-want +got):\n%s", diff)
	}
	if a[1].Value != 8 {
		t.Errorf("what is covered changed to %v", a)
	}
	everyTable(t, func(t *testing.T, g mig.Geometry) {
		var sum mig.Amounts
		for _, cost := range costs(t, g) {
			sum = sum.Cover(cost)
		}
		for _, a := range g.Total() {
			if !slices.Contains(sum, a) {
				t.Errorf("all partitions together cover %v; the GPU has %+v", sum, a)
			}
		}
	})
}

func TestAGPUThatCannotBePartitionedHasNothingToCount(t *testing.T) {
	var g mig.Geometry
	if n := g.Units(); n != 0 {
		t.Errorf("%d units", n)
	}
	if total := g.Total(); len(total) > 0 {
		t.Errorf("total is %v", total)
	}
	if ps := g.Partitions(); len(ps) > 0 {
		t.Errorf("partitions are %v", ps)
	}
}

// A set may have at most 32 counters, and so may what a device consumes:
// ResourceSliceMaxCountersPerCounterSet and ...PerDeviceCounterConsumption of
// k8s.io/api/resource/v1.
func TestCountersStayWithinWhatASliceMayHold(t *testing.T) {
	everyTable(t, func(t *testing.T, g mig.Geometry) {
		if n := len(g.Total()); n > 32 {
			t.Errorf("%d counters in the set", n)
		}
	})
}

// counters is the scheduler's account of one GPU.
type counters map[string]int64

func full(g mig.Geometry) counters {
	c := counters{}
	for _, a := range g.Total() {
		c[a.Name] = a.Value
	}
	return c
}

// admits says whether all of the cost is left.
func (c counters) admits(cost mig.Amounts) bool {
	for _, a := range cost {
		if c[a.Name] < a.Value {
			return false
		}
	}
	return true
}

func (c counters) charge(cost mig.Amounts) {
	for _, a := range cost {
		c[a.Name] -= a.Value
	}
}

// costs are what the partitions of a GPU take.
func costs(t *testing.T, g mig.Geometry) map[mig.Partition]mig.Amounts {
	t.Helper()
	out := map[mig.Partition]mig.Amounts{}
	for _, p := range g.Partitions() {
		cost, ok := g.Cost(p)
		if !ok {
			t.Fatalf("%+v has no cost", p)
		}
		out[p] = cost
	}
	return out
}

// From every layout that can be reached, the counters let in exactly what Fits
// lets in. A set that the counters admit has only such layouts on its way, in
// whatever order it is built, and one that they do not admit is stopped on every
// way: so they agree on all sets in all orders.
func TestCountersAdmitASetExactlyWhenItFits(t *testing.T) {
	everyTable(t, func(t *testing.T, g mig.Geometry) {
		costs := costs(t, g)
		layouts(g, func(live []mig.Partition) {
			c := full(g)
			for _, l := range live {
				if !c.admits(costs[l]) {
					t.Fatalf("the counters do not admit %v", live)
				}
				c.charge(costs[l])
			}
			for p, cost := range costs {
				if admits, fits := c.admits(cost), g.Fits(live, p); admits != (fits == nil) {
					t.Errorf("beside %v the counters say %t of %+v and Fits says %v", live, admits, p, fits)
				}
			}
		})
	})
}

// The same from the other side: any partitions, also such as never stand beside
// each other, asked for in any order.
func TestCountersAndFitsAgreeInAnyOrder(t *testing.T) {
	everyTable(t, func(t *testing.T, g mig.Geometry) {
		all, costs := g.Partitions(), costs(t, g)
		rapid.Check(t, func(t *rapid.T) {
			c, live := full(g), []mig.Partition(nil)
			for _, p := range rapid.SliceOfN(rapid.SampledFrom(all), 1, 12).Draw(t, "asked for") {
				admits, fits := c.admits(costs[p]), g.Fits(live, p)
				if admits != (fits == nil) {
					t.Fatalf("beside %v the counters say %t of %+v and Fits says %v", live, admits, p, fits)
				}
				if admits {
					c.charge(costs[p])
					live = append(live, p)
				}
			}
		})
	})
}
