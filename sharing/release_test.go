// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
)

// effects are the steps of which there is something to undo.
func effects(steps []Step) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool {
		switch s.(type) {
		case FindVacant, CreateComputeInstance, FindInstance, NoteComputeMode, NoteInterval:
			return true
		}
		return false
	})
}

// What is undone when a claim ends that was granted parts of several GPUs, by
// what has become of these.
func TestReleaseOfParts(t *testing.T) {
	here, there := divisible(t, "H100-80", "gpu-0"), divisible(t, "H100-80", "gpu-1")
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": here, "gpu-1": there}}
	one, two, other := here.where(t, "1g.10gb", 6), there.where(t, "1g.10gb", 5), there.where(t, "3g.40gb", 0)
	rec, err := Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "n", Asks: append(uses(one.Slot, two.Slot, other.Slot), Ask{Request: "w", Device: "gpu-1", Admin: true})})
	if err != nil {
		t.Fatal(err)
	}
	rec.Facts = Facts{one.Slot: {GI: 1, UUID: "MIG-1"}, two.Slot: {GI: 2, UUID: "MIG-2"}}
	spec := rec.Steps[len(rec.Steps)-1]
	mine := []Step{SwitchMIG{here.Address, true}, CreateGPUInstance{one}}
	theirs := []Step{SwitchMIG{there.Address, true}, CreateGPUInstance{two}, CreateGPUInstance{other}}
	gone := func(names ...string) map[string]Device {
		out := map[string]Device{"gpu-0": here, "gpu-1": there}
		for _, n := range names {
			d := out[n]
			d.Condition = Lost
			out[n] = d
		}
		return out
	}
	for name, c := range map[string]struct {
		devices    map[string]Device
		undo, owed []Step
		holds      []string
		fenced     []string
	}{
		"all answer":            {gone(), effects(rec.Steps), nil, nil, nil},
		"one does not":          {gone("gpu-1"), append(append([]Step{}, mine...), spec), theirs, []string{two.Slot, other.Slot}, []string{there.Address, there.Address}},
		"none does":             {gone("gpu-0", "gpu-1"), []Step{spec}, append(append([]Step{}, mine...), theirs...), []string{one.Slot, two.Slot, other.Slot}, []string{here.Address, there.Address, there.Address}},
		"taken out of the node": {map[string]Device{}, effects(rec.Steps), nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Release(rec, c.devices, nil)
			if r.Undo.State != Releasing || r.Owed.State != Releasing {
				t.Errorf("states %q and %q", r.Undo.State, r.Owed.State)
			}
			if d := cmp.Diff([][]Step{c.undo, c.owed}, [][]Step{effects(r.Undo.Steps), r.Owed.Steps}); d != "" {
				t.Errorf("undone and owed (-want +got):\n%s", d)
			}
			if d := cmp.Diff(rec.Holds, r.Undo.Holds); d != "" {
				t.Errorf("while it is undone, all is held (-want +got):\n%s", d)
			}
			var holds, fenced []string
			for _, h := range r.Owed.Holds {
				holds = append(holds, h.Slot)
			}
			for _, f := range r.Fences {
				fenced = append(fenced, f.Address)
			}
			if d := cmp.Diff([][]string{c.holds, c.fenced}, [][]string{holds, fenced}); d != "" {
				t.Errorf("held for what is owed, and fenced (-want +got):\n%s", d)
			}
			if r.Owed.Grant != nil || len(c.owed) > 0 && r.Owed.Facts[two.Slot].GI != 2 {
				t.Errorf("owed: grant %v, facts %v; want none, and what is needed to undo it", r.Owed.Grant, r.Owed.Facts)
			}
			again := Release(r.Owed, c.devices, nil)
			if d := cmp.Diff(c.owed, again.Owed.Steps); d != "" {
				t.Errorf("owed by what is owed (-want +got):\n%s", d)
			}
		})
	}
}

// What a claim is owed keeps others off that very part, and off no other.
func TestWhatIsOwedIsHeld(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": d}}
	rec, err := Acquire(node, Claim{UID: "c", Asks: uses("gpu-0-mig-1g10gb-19-6")})
	if err != nil {
		t.Fatal(err)
	}
	lost := d
	lost.Condition = Lost
	node.Holds = Release(rec, map[string]Device{"gpu-0": lost}, nil).Owed.Holds
	node.Devices["gpu-0"] = d.on()
	_, err = Acquire(node, Claim{UID: "d", Asks: uses("gpu-0-mig-1g20gb-15-6")})
	refusal(t, err, api.Held, "by way of gpu-0-mig-1g10gb-19-6")
	if _, err = Acquire(node, Claim{UID: "d", Asks: uses("gpu-0-mig-1g20gb-15-4")}); err != nil {
		t.Errorf("another part: %v", err)
	}
}

// A fence for a mode that stays on sets the whole GPU apart, not its parts.
func TestStuckFence(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	look := Look{Boot: "b", GPUs: []Present{{GPU: d.GPU, MIGMode: MIGMode{On: true, Pending: true}, Instances: []Instance{d.theirs(t, "1g.10gb", 0)}}}}
	f := StuckFence(d.Address, errors.New("in use"))
	devices, _ := Roster(look, nil, map[string]Fence{d.Address: f}, "")
	got := devices[0]
	if got.Condition != Ready || got.Stuck != f.Why || got.Refusal() != nil || !got.On || len(got.Instances) != 1 {
		t.Errorf("it is %s, stuck %q, on %t, with %d instances", got.Condition, got.Stuck, got.On, len(got.Instances))
	}
	got.Instances[0].Foreign = false
	if !look.GPUs[0].Instances[0].Foreign {
		t.Error("to mark an instance of the roster changes the look")
	}
	if devices, _ = Roster(look, nil, map[string]Fence{d.Address: f}, "records were lost"); devices[0].Condition != Held {
		t.Errorf("with its records lost it is %s, want Held", devices[0].Condition)
	}
}

func TestFactsAreNewsOnce(t *testing.T) {
	var rec Record
	before := rec.Facts.with("a", Fact{GI: 1})
	rec.Facts = before
	for _, c := range []struct {
		fact Fact
		news bool
	}{{Fact{GI: 1}, false}, {Fact{GI: 1, UUID: "MIG-1"}, true}, {Fact{GI: 1, UUID: "MIG-1"}, false}, {Fact{GI: 1, CI: 2, UUID: "MIG-1"}, true}} {
		if got := rec.Learn("a", c.fact); got != c.news {
			t.Errorf("%+v is news: %t", c.fact, got)
		}
	}
	if before["a"] != (Fact{GI: 1}) {
		t.Errorf("what was known before is now %+v", before["a"])
	}
}
