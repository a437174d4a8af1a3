// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The steps of a claim, in the order in which they must run: the mode once for a
// GPU, before what needs it; the spec last.
func TestStepsOfAClaim(t *testing.T) {
	h100, other, a100 := divisible(t, "H100-80", "gpu-0"), divisible(t, "H100-80", "gpu-1"), divisible(t, "A100-40", "gpu-2").on()
	theirs := divisible(t, "H100-80", "gpu-3")
	theirs = theirs.on(theirs.theirs(t, "2g.20gb", 4))
	ours := divisible(t, "H100-80", "gpu-4").on()
	ours.Instances = []Instance{{Partition: ours.at(t, "1g.10gb", 0), UUID: "MIG-ours"}}
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": h100, "gpu-1": other, "gpu-2": a100, "gpu-3": theirs, "gpu-4": ours}}
	one, two := h100.where(t, "1g.10gb", 6), h100.where(t, "3g.40gb", 0)
	onA100, found, watched := a100.where(t, "1g.5gb", 3), theirs.where(t, "2g.20gb", 4), ours.where(t, "1g.10gb", 0)
	whole := func(d Device) SpecDevice {
		return SpecDevice{Name: "c-" + d.Name, Address: d.Address, UUID: d.UUID}
	}
	seen := func(d Device, p Place) SpecDevice {
		return SpecDevice{Name: "c-" + p.Slot, Address: d.Address, UUID: d.UUID, Slot: p.Slot}
	}
	made := func(d Device, p Place) SpecDevice {
		s := seen(d, p)
		s.Made = &p.Partition
		return s
	}
	admin := func(slot string) Ask { return Ask{Request: "watch", Device: slot, Admin: true} }
	for name, c := range map[string]struct {
		asks []Ask
		want []Step
	}{
		"none": {nil, nil},
		"a whole GPU whose mode follows claims": {uses("gpu-1"), []Step{
			SwitchMIG{Address: other.Address}, WriteSpec{Claim: "c", Devices: []SpecDevice{whole(other)}}}},
		"two parts of one GPU": {uses(one.Slot, two.Slot), []Step{
			SwitchMIG{Address: h100.Address, On: true},
			FindVacant{one}, CreateGPUInstance{one}, CreateComputeInstance{one}, FindVacant{two}, CreateGPUInstance{two}, CreateComputeInstance{two},
			WriteSpec{Claim: "c", Devices: []SpecDevice{made(h100, one), made(h100, two)}}}},
		"parts and a whole of several GPUs": {uses(one.Slot, "gpu-1", onA100.Slot), []Step{
			SwitchMIG{Address: h100.Address, On: true}, FindVacant{one}, CreateGPUInstance{one}, CreateComputeInstance{one},
			SwitchMIG{Address: other.Address},
			FindVacant{onA100}, CreateGPUInstance{onA100}, CreateComputeInstance{onA100},
			WriteSpec{Claim: "c", Devices: []SpecDevice{made(h100, one), whole(other), made(a100, onA100)}}}},
		"one that is there": {uses(found.Slot), []Step{
			FindInstance{Place: found}, WriteSpec{Claim: "c", Devices: []SpecDevice{seen(theirs, found)}}}},
		"watching one that is there": {[]Ask{admin(watched.Slot)}, []Step{
			FindInstance{Place: watched, Optional: true}, WriteSpec{Claim: "c", Devices: []SpecDevice{seen(ours, watched)}}}},
		"watching one that is not": {[]Ask{admin(two.Slot)}, []Step{
			FindInstance{Place: two, Optional: true}, WriteSpec{Claim: "c", Devices: []SpecDevice{seen(h100, two)}}}},
		"watching a whole GPU": {[]Ask{admin("gpu-4")}, []Step{
			WriteSpec{Claim: "c", Devices: []SpecDevice{whole(ours)}}}},
		"using and watching one": {append(uses(one.Slot), admin(one.Slot)), []Step{
			SwitchMIG{Address: h100.Address, On: true}, FindVacant{one}, CreateGPUInstance{one}, CreateComputeInstance{one},
			WriteSpec{Claim: "c", Devices: []SpecDevice{made(h100, one)}}}},
		"using and watching one that is there": {append(uses(found.Slot), admin(found.Slot)), []Step{
			FindInstance{Place: found}, WriteSpec{Claim: "c", Devices: []SpecDevice{seen(theirs, found)}}}},
		"watching and using one": {append([]Ask{admin(one.Slot)}, uses(one.Slot)...), []Step{
			FindInstance{Place: one, Optional: true},
			SwitchMIG{Address: h100.Address, On: true}, FindVacant{one}, CreateGPUInstance{one}, CreateComputeInstance{one},
			WriteSpec{Claim: "c", Devices: []SpecDevice{made(h100, one)}}}},
		"watching and using one that is there": {append([]Ask{admin(found.Slot)}, uses(found.Slot)...), []Step{
			FindInstance{Place: found, Optional: true}, FindInstance{Place: found},
			WriteSpec{Claim: "c", Devices: []SpecDevice{seen(theirs, found)}}}},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := Acquire(node, Claim{UID: "c", Asks: c.asks})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, rec.Steps); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
