// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/mig"
)

func madeOn(d Device, slot string, start int) Made {
	return Made{
		Place: Place{Slot: slot, Address: d.Address, Partition: mig.Partition{Profile: 19, Placement: mig.Placement{Start: start, Size: 1}}},
		Fact:  Fact{GI: 7 + start, UUID: "MIG-" + slot},
	}
}

// What a CDI spec tells is enough to take back all that was made, the mode of a
// GPU once, and the spec itself first.
func TestStray(t *testing.T) {
	switchable, fixed := device("gpu-0", Ready), device("gpu-1", Ready)
	switchable.MIG, fixed.MIG = &MIG{Switchable: true}, &MIG{}
	devices := map[string]Device{"gpu-0": switchable, "gpu-1": fixed}
	a, b, c := madeOn(switchable, "gpu-0-mig-1g-19-0", 0), madeOn(switchable, "gpu-0-mig-1g-19-1", 1), madeOn(fixed, "gpu-1-mig-1g-19-0", 0)
	want := Record{
		UID: "u", State: Releasing,
		Steps: []Step{
			SwitchMIG{Address: switchable.Address, On: true},
			CreateGPUInstance{a.Place}, CreateComputeInstance{a.Place},
			CreateGPUInstance{b.Place}, CreateComputeInstance{b.Place},
			CreateGPUInstance{c.Place}, CreateComputeInstance{c.Place},
			WriteSpec{Claim: "u"},
		},
		Facts: Facts{a.Slot: a.Fact, b.Slot: b.Fact, c.Slot: c.Fact},
		Holds: []Hold{{Slot: a.Slot, Claim: "u"}, {Slot: b.Slot, Claim: "u"}, {Slot: c.Slot, Claim: "u"}},
	}
	if d := cmp.Diff(want, Stray("u", Trace{Made: []Made{a, b, c}}, devices)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(Record{UID: "u", State: Releasing, Steps: []Step{WriteSpec{Claim: "u"}}}, Stray("u", Trace{}, devices)); d != "" {
		t.Errorf("of a spec that tells nothing (-want +got):\n%s", d)
	}
}

// The instances that a claim's spec names are its own, with whatever runs on
// them; all others stay what they are, and so do the devices that were given.
func TestAdoptable(t *testing.T) {
	d := device("gpu-0", Held)
	d.Instances = []Instance{
		{GI: 7, UUID: "MIG-mine", Processes: 1, Foreign: true, Stray: true},
		{GI: 8, UUID: "MIG-theirs", Processes: 1, Foreign: true, Stray: true},
	}
	given := map[string]Device{"gpu-0": d, "gpu-1": device("gpu-1", Lost)}
	got := Adoptable(given, []Made{{Fact: Fact{UUID: "MIG-mine"}}})
	if c := got["gpu-0"].Condition; c != Ready {
		t.Errorf("the held GPU is %s, want Ready", c)
	}
	if c := got["gpu-1"].Condition; c != Lost {
		t.Errorf("the lost GPU is %s", c)
	}
	want := []Instance{{GI: 7, UUID: "MIG-mine", Processes: 1}, {GI: 8, UUID: "MIG-theirs", Processes: 1, Foreign: true}}
	if diff := cmp.Diff(want, got["gpu-0"].Instances); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if i := given["gpu-0"].Instances[0]; !i.Foreign || !i.Stray {
		t.Errorf("what was given was changed: %+v", i)
	}
}
