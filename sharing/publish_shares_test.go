// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// withOffers is what is published of devices under one policy, on a node that can
// do everything.
func withOffers(devices []Device, offers ...v1alpha1.Offer) []Slice {
	p := policy("p", 0, 0)
	p.Spec.Offers = offers
	c := Cluster{Policies: []v1alpha1.SharingPolicy{p}, Can: everything}
	return Publish(Offerings(devices, c, Standing{Has: Means{MPS: Supervision{Up: true, MultiUser: true}}}), c.Can)
}

// A GPU that may be whole or shared is published as both, with one set of counters;
// a share has one size, which nobody can change.
func TestPublishedShares(t *testing.T) {
	d := h100(t, "gpu-0")
	turns := sharedBy(v1alpha1.TimeSlicing, 8, taking("Short"))
	turns.Name = "burst"
	got := withOffers([]Device{d}, wholeGPU(), turns, sharedBy(v1alpha1.MPS, 4))
	if diff := cmp.Diff(golden(t, "h100-shares.json"), asSpecs(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A GPU that is published as one device only needs no counters, and one that cannot
// be partitioned has one that counts itself.
func TestCountersOfShares(t *testing.T) {
	t4 := device("gpu-0", Ready)
	t4.Product, t4.MemoryBytes = "Tesla T4", 16<<30
	alone := withOffers([]Device{t4}, sharedBy(v1alpha1.TimeSlicing, 4))
	if len(alone) != 1 || len(alone[0].Devices) != 1 || counted(alone[0].Devices) != 0 {
		t.Errorf("shared only: %+v", alone)
	}
	both := withOffers([]Device{t4}, wholeGPU(), sharedBy(v1alpha1.TimeSlicing, 4))
	if len(both) != 3 || len(both[0].Counters) != 1 || counted(both[1].Devices) != 1 || counted(both[2].Devices) != 1 {
		t.Fatalf("whole and shared: %+v", both)
	}
	total := both[0].Counters[0].Counters
	for _, s := range both[1:] {
		uses := s.Devices[0].ConsumesCounters[0]
		if uses.CounterSet != both[0].Counters[0].Name || !cmp.Equal(uses.Counters, total) || len(total) == 0 {
			t.Errorf("%s uses %+v of %+v", s.Devices[0].Name, uses, both[0].Counters[0])
		}
	}
}

// Whole GPUs and partitions are taken from the front, shares from the back: first
// fit fills the node from both ends.
func TestSharesStandLastAndInReverse(t *testing.T) {
	var devices []Device
	for i := range 12 {
		devices = append(devices, h100(t, fmt.Sprintf("gpu-%d", i)))
		devices[i].Address = fmt.Sprintf("0000:%02d:00.0", i)
	}
	turns := sharedBy(v1alpha1.TimeSlicing, 8)
	turns.Name = "turns"
	half := sharedBy(v1alpha1.MPS, 2)
	half.Name = "half"
	offers := []v1alpha1.Offer{wholeGPU(), half, turns}
	for i := range 4 {
		o := sharedBy(v1alpha1.MPS, int32(3+i))
		o.Name = fmt.Sprintf("o%d", i)
		offers = append(offers, o)
	}
	slices := withOffers(devices, offers...)
	var order []string
	for _, s := range slices {
		if len(s.Devices) > 64 || len(s.Counters) > 8 || len(s.Devices) > 0 && len(s.Counters) > 0 {
			t.Errorf("a slice with %d devices and %d counter sets", len(s.Devices), len(s.Counters))
		}
		for _, d := range s.Devices {
			order = append(order, d.Name)
		}
	}
	if len(order) != 12*7 || order[0] != "gpu-0" || order[11] != "gpu-11" {
		t.Fatalf("order of %d: %v", len(order), order)
	}
	for i, name := range order[12:] {
		if want := fmt.Sprintf("gpu-%d", 11-i/6); GPUOf(name) != want {
			t.Errorf("device %d of the shared ones is %s, want one of %s", i, name, want)
		}
	}
	if TypeOf(order[12]) != "gpu-share" || order[12][:12] != "gpu-11-turns" || order[17][:11] != "gpu-11-half" {
		t.Errorf("small before large: %v", order[12:18])
	}
}

// Where the API server keeps nothing of what shares need, none is published, not even
// one that was before.
func TestNoSharesWithoutTheirGate(t *testing.T) {
	d := h100(t, "gpu-0")
	o := offered(d, "p", sharedBy(v1alpha1.TimeSlicing, 8))
	if len(o.Slots) != 1 {
		t.Fatalf("slots %+v", o.Slots)
	}
	if got := Publish([]Offering{o}, Abilities{Why: "the gate is off"}); len(got) != 0 {
		t.Errorf("published: %+v", got)
	}
}

// Every claim consumes the same of a share, whatever it asks for.
func TestASharesSizeIsFixed(t *testing.T) {
	slices := withOffers([]Device{h100(t, "gpu-0")}, sharedBy(v1alpha1.MPS, 4))
	for name, c := range slices[0].Devices[0].Capacity {
		p := c.RequestPolicy
		if p == nil || p.Default == nil || len(p.ValidValues) != 1 || p.Default.Cmp(p.ValidValues[0]) != 0 || p.Default.Sign() <= 0 {
			t.Errorf("%s: %+v", name, c)
		}
		if n := (resourceapi.DeviceCapacity{Value: c.Value}); n.Value.Value() < 4*p.Default.Value() {
			t.Errorf("%s: %s is not enough for 4 times %s", name, c.Value.String(), p.Default)
		}
	}
}
