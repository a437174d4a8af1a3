// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"cmp"
	"reflect"

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
	// Slots are the shared slots, by name.
	Slots map[string]Shared
	// Known is what other claims that have shares of the same slots learnt.
	Known Facts
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
	if err := a.startDaemon(); err != nil {
		return Record{}, err
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
	// daemon is the MPS control daemon of the claim's own, and group whose it is.
	daemon *StartMPS
	group  int
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
	switch {
	case at.shared:
		err = a.takeShare(d, ask, &granted)
	case at.whole:
		err = a.takeWhole(d, ask)
	default:
		granted.Slot = ask.Device
		found, err = a.takePartition(d, at, ask)
		if p, ok := d.partition(at); ok && !found && !ask.Admin {
			granted.Made = &p
		}
	}
	if err == nil {
		err = a.apply(d, at, ask, &granted)
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
	return a.undivided(d)
}

// undivided makes the GPU one that is not partitioned.
func (a *acquisition) undivided(d Device) error {
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

// step appends s. Switching the mode once for several partitions is enough.
func (a *acquisition) step(s Step) {
	for _, have := range a.rec.Steps {
		if reflect.DeepEqual(have, s) {
			return
		}
	}
	a.rec.Steps = append(a.rec.Steps, s)
}

// add appends the device unless the spec has it already: two requests for one
// device share its CDI name.
func (s *WriteSpec) add(d SpecDevice) {
	for i, have := range s.Devices {
		if have.Name == d.Name {
			merged := &s.Devices[i]
			merged.Slot, merged.Made = cmp.Or(have.Slot, d.Slot), cmp.Or(have.Made, d.Made)
			merged.Shared, merged.MemoryMiB = cmp.Or(have.Shared, d.Shared), cmp.Or(have.MemoryMiB, d.MemoryMiB)
			merged.Daemon = cmp.Or(have.Daemon, d.Daemon)
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
