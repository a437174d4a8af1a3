// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// takePartition decides about a partition: one that is there, or one to be made.
// It says whether it was there.
func (a *acquisition) takePartition(d Device, at place, ask Ask) (bool, error) {
	p, ok := d.partition(at)
	if !ok {
		return false, a.unknown(ask)
	}
	where := Place{Slot: ask.Device, Address: d.Address, Partition: p}
	if ask.Admin {
		a.look(where, true)
		return false, nil
	}
	if err := a.twice(d, p.Placement, false, ask); err != nil {
		return false, err
	}
	theirs := d.occupied(a.others())
	if h := theirs.keepsOff(p.Placement); h != nil {
		return false, a.held(ask.Device, *h)
	}
	if inst, ok := d.foreignAt(p); ok {
		if inst.UUID == "" || inst.Stray {
			return true, api.Errorf(api.Held, "the MIG instance behind %s was made by somebody else and %s", ask.Device, inst.trouble())
		}
		a.look(where, false)
		return true, nil
	}
	if err := d.partitionable(); err != nil {
		return false, err
	}
	if err := d.MIG.Geometry.Fits(a.live(d, theirs), p); err != nil {
		return false, api.Errorf(api.Held, "%s cannot be made on %s: %w", ask.Device, d.Name, err)
	}
	if d.MIG.Switchable {
		a.step(SwitchMIG{Address: d.Address, On: true})
	}
	a.step(FindVacant{Place: where})
	a.step(CreateGPUInstance{Place: where})
	a.step(CreateComputeInstance{Place: where})
	return false, nil
}

// live are the partitions beside which another one must fit.
func (a *acquisition) live(d Device, theirs occupancy) []mig.Partition {
	var out []mig.Partition
	for _, t := range theirs.parts {
		out = append(out, t.Partition)
	}
	for _, t := range d.occupied(a.rec.Holds).parts {
		out = append(out, t.Partition)
	}
	for _, f := range d.foreign() {
		held := false
		for _, p := range out {
			held = held || p == f.Partition
		}
		if !held {
			out = append(out, f.Partition)
		}
	}
	return out
}

// foreignAt returns the foreign instance that is exactly this partition.
func (d Device) foreignAt(p mig.Partition) (Instance, bool) {
	for _, i := range d.foreign() {
		if i.Partition == p {
			return i, true
		}
	}
	return Instance{}, false
}

// trouble is why a foreign instance cannot be handed out.
func (i Instance) trouble() string {
	if i.UUID == "" {
		return "has no compute instance that takes all of it"
	}
	return "is in use by processes that no claim accounts for"
}

// look has the facts of an instance learnt that is there. A claim that both uses
// and watches a partition needs its own step only.
func (a *acquisition) look(where Place, optional bool) {
	for _, have := range a.rec.Steps {
		if s, ok := have.(FindInstance); ok && s.Slot == where.Slot {
			optional = optional && s.Optional
		}
		if s, ok := have.(CreateComputeInstance); ok && s.Slot == where.Slot {
			return
		}
	}
	a.step(FindInstance{Place: where, Optional: optional})
}
