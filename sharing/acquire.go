// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"cmp"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// Node is what Acquire may see: the devices of the node by published name, and
// all holds on every GPU that the claim names.
type Node struct {
	// Pool is the name under which the devices are published: the node's.
	Pool    string
	Devices map[string]Device
	Holds   []Hold
}

// Acquire returns what must change before the claim may run, the holds that
// keep others away from the first intent on, and what to answer at the end.
//
// It is the last line of defence: it refuses hardware that another claim holds
// any part of, whatever the scheduler said. A refusal is an *api.Error, and
// nothing was touched.
func Acquire(n Node, c Claim) (Record, error) {
	a := acquisition{Node: n, claim: c, rec: Record{
		UID: c.UID, Namespace: c.Namespace, Name: c.Name, State: Preparing, Grant: &Grant{Devices: []Granted{}},
	}, spec: WriteSpec{Claim: c.UID}}
	for _, ask := range c.Asks {
		if err := a.take(ask); err != nil {
			return Record{}, err
		}
	}
	if len(a.spec.Devices) > 0 {
		a.rec.Steps = append(a.rec.Steps, a.spec)
	}
	return a.rec, nil
}

// acquisition is a decision under way.
type acquisition struct {
	Node
	claim Claim
	rec   Record
	spec  WriteSpec
}

// take decides about one ask.
func (a *acquisition) take(ask Ask) error {
	at, ok := parseSlot(ask.Device)
	d, known := a.Devices[at.gpu]
	if !ok || !known {
		return a.unknown(ask)
	}
	if ask.Admin && d.Condition == Lost {
		return d.Refusal()
	}
	if !ask.Admin {
		if err := d.Refusal(); err != nil {
			return err
		}
	}
	granted := SpecDevice{Name: a.claim.UID + "-" + ask.Device, Address: d.Address, UUID: d.UUID}
	var err error
	found := false
	if at.whole {
		err = a.takeWhole(d, ask)
	} else {
		granted.Slot = ask.Device
		found, err = a.takePartition(d, at, ask)
		if p, ok := d.partition(at); ok && !found && !ask.Admin {
			granted.Made = &p
		}
	}
	if err != nil {
		return err
	}
	a.spec.add(granted)
	a.rec.hold(Hold{Slot: ask.Device, Claim: a.claim.UID, Share: ask.Share, Namespace: a.claim.Namespace, Name: a.claim.Name, Admin: ask.Admin, Found: found})
	a.rec.Grant.Devices = append(a.rec.Grant.Devices, Granted{
		Request: ask.Request, Pool: a.Pool, Device: ask.Device, Share: ask.Share, CDI: []string{api.CDIKind + "=" + granted.Name},
	})
	return nil
}

func (a *acquisition) unknown(ask Ask) error {
	return api.Errorf(api.NotFound, "request %s was allocated device %s, which node %s does not have; delete the pod to have it scheduled again", ask.Request, ask.Device, a.Pool)
}

// takeWhole decides about a whole GPU. Admin asks neither hold nor are held off,
// and change nothing.
func (a *acquisition) takeWhole(d Device, ask Ask) error {
	if ask.Admin {
		return nil
	}
	if err := a.twice(d, mig.Placement{}, true, ask); err != nil {
		return err
	}
	if h := d.occupied(a.others()).holder(); h != nil {
		return a.held(d.Name, *h)
	}
	if f := d.foreign(); len(f) > 0 {
		return api.Errorf(api.Held, "%s has %d MIG instances that this driver did not make; the whole GPU is free once they are gone: nvidia-smi mig -lgi -i %s", d.Name, len(f), d.UUID)
	}
	switch {
	case d.MIG != nil && d.MIG.Switchable:
		a.step(SwitchMIG{Address: d.Address})
	case d.On:
		return api.Errorf(api.NeedsReset, "MIG mode of %s is on, so that no container can use it whole, and changing it needs a reset of the GPU: nvidia-smi -i %s -mig 0, then reset it or reboot the node", d.Name, d.UUID)
	}
	return nil
}

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

// others are the holds of other claims.
func (a *acquisition) others() []Hold {
	var out []Hold
	for _, h := range a.Holds {
		if h.Claim != a.claim.UID {
			out = append(out, h)
		}
	}
	return out
}

// twice refuses hardware that this very claim was given already.
func (a *acquisition) twice(d Device, p mig.Placement, whole bool, ask Ask) error {
	mine := d.occupied(a.rec.Holds)
	h := mine.keepsOff(p)
	if whole {
		h = mine.holder()
	}
	if h == nil {
		return nil
	}
	return api.Errorf(api.Invalid, "claim %s/%s was allocated %s beside %s (request %s), which are the same hardware; one device has one holder", a.claim.Namespace, a.claim.Name, ask.Device, h.Slot, ask.Request)
}

func (a *acquisition) held(device string, h Hold) error {
	what := ""
	if h.Slot != device {
		what = " by way of " + h.Slot
	}
	return api.Errorf(api.Held, "%s is held%s by claim %s/%s (UID %s), which has not been released on this node yet; the kubelet tries again", device, what, h.Namespace, h.Name, h.Claim)
}

// holder returns a hold on any part of the GPU, or nil.
func (o occupancy) holder() *Hold {
	if o.whole == nil && len(o.parts) > 0 {
		return &o.parts[0].Hold
	}
	if o.whole != nil {
		return o.whole
	}
	return o.unknown
}

// keepsOff returns the hold that a partition at p would overlap, or nil.
func (o occupancy) keepsOff(p mig.Placement) *Hold {
	for _, t := range o.parts {
		if t.Overlaps(p) {
			return &t.Hold
		}
	}
	if o.whole != nil {
		return o.whole
	}
	return o.unknown
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

// step appends s. Switching the mode once for several partitions is enough.
func (a *acquisition) step(s Step) {
	for _, have := range a.rec.Steps {
		if have == s {
			return
		}
	}
	a.rec.Steps = append(a.rec.Steps, s)
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

// add appends the device unless the spec has it already: two requests for one
// device share its CDI name.
func (s *WriteSpec) add(d SpecDevice) {
	for i, have := range s.Devices {
		if have.Name == d.Name {
			s.Devices[i].Made = cmp.Or(have.Made, d.Made)
			return
		}
	}
	s.Devices = append(s.Devices, d)
}

// hold records h. A claim that both uses and watches one device has one hold on
// it, the one that keeps others away.
func (r *Record) hold(h Hold) {
	for i, have := range r.Holds {
		if have.Slot == h.Slot && have.Share == h.Share {
			r.Holds[i].Admin = have.Admin && h.Admin
			r.Holds[i].Found = have.Found || h.Found
			return
		}
	}
	r.Holds = append(r.Holds, h)
}
