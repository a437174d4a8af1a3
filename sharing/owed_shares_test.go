// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"slices"
	"testing"
)

// released carries out a release as the journal does: what is owed, if that has
// steps, takes the record's place with its holds.
func released(records map[string]Record, uid string, devices map[string]Device) Released {
	r := Release(records[uid], devices, holdsOf(records))
	delete(records, uid)
	if len(r.Owed.Steps) > 0 {
		records[uid] = r.Owed
	}
	return r
}

// Sharers that are released while their GPU does not answer leave nothing behind:
// the daemon ends with the last of them, the mode is restored once the GPU is back.
func TestSharersOfALostGPU(t *testing.T) {
	node, slot, _ := sharedNode(t)
	there := map[string]Device{"gpu-0": node.Devices["gpu-0"]}
	lost := map[string]Device{"gpu-0": there["gpu-0"]}
	d := lost["gpu-0"]
	d.Condition, d.Why = Lost, "the driver cannot be reached"
	lost["gpu-0"] = d

	records := map[string]Record{}
	for i := range 2 {
		node.Holds = holdsOf(records)
		rec, err := Acquire(node, Claim{UID: fmt.Sprint("c", i), Asks: []Ask{{Request: "r", Device: slot, Share: fmt.Sprint("s", i)}}})
		if err != nil {
			t.Fatal(err)
		}
		rec.Learn(WasComputeMode(d.Address, ComputeDefault))
		rec.State = Prepared
		records[rec.UID] = rec
	}
	var undone []Step
	for _, uid := range []string{"c0", "c1"} {
		undone = append(undone, released(records, uid, lost).Undo.Steps...)
	}
	// The GPU answers again: what is owed is settled.
	for _, uid := range []string{"c0", "c1"} {
		if _, owed := records[uid]; owed {
			undone = append(undone, released(records, uid, there).Undo.Steps...)
		}
	}
	if !slices.ContainsFunc(undone, func(s Step) bool { _, ok := s.(StartMPS); return ok }) {
		t.Error("nobody ended the MPS daemon")
	}
	if !slices.ContainsFunc(undone, func(s Step) bool { _, ok := s.(SetComputeMode); return ok }) {
		t.Error("nobody restored the compute mode: the GPU stays in exclusive mode")
	}
	if len(records) > 0 {
		t.Errorf("what stays recorded: %+v", records)
	}
}

// What watched a GPU that is lost owes nothing: a record without holds is one that
// nobody comes back to.
func TestNothingIsOwedWithoutAHold(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0").on()
	part := d.where(t, "1g.10gb", 0).Slot
	rec, err := Acquire(Node{Pool: "n1", Devices: map[string]Device{"gpu-0": d}}, Claim{UID: "c", Asks: []Ask{{Request: "w", Device: part, Admin: true}}})
	if err != nil {
		t.Fatal(err)
	}
	d.Condition = Lost
	r := Release(rec, map[string]Device{"gpu-0": d}, nil)
	if len(r.Owed.Steps) > 0 && len(r.Owed.Holds) == 0 {
		t.Errorf("owed without a hold: %+v", r.Owed.Steps)
	}
}

// A claim that watches a device and has a share of it gets the share's edits: one
// CDI device stands for both requests.
func TestWatchAndShare(t *testing.T) {
	node, slot, _ := sharedNode(t)
	watch, use := Ask{Request: "w", Device: slot, Share: "s0", Admin: true}, Ask{Request: "u", Device: slot, Share: "s1"}
	for name, asks := range map[string][]Ask{"use first": {use, watch}, "watch first": {watch, use}} {
		rec, err := Acquire(node, Claim{UID: "c", Asks: asks})
		if err != nil {
			t.Fatal(err)
		}
		spec := rec.Steps[len(rec.Steps)-1].(WriteSpec)
		for _, d := range spec.Devices {
			if d.Shared == nil || d.Daemon != slot || d.Slot != slot || d.MemoryMiB == 0 {
				t.Errorf("%s: a container with the share is told %+v", name, d)
			}
		}
	}
}
