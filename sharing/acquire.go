// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"github.com/cotenant-dev/cotenant/api"
)

// Node is what Acquire may see: the devices of the node by published name, and
// the holds on every GPU that the claim names.
type Node struct {
	// Pool is the name under which the devices are published: the node's.
	Pool    string
	Devices map[string]Device
	Holds   []Hold
}

// Acquire returns what must change before the claim may run, the holds that
// keep others away from the first intent on, and what to answer at the end.
//
// It is the last line of defence: it refuses what another claim holds whatever
// the scheduler said. A refusal is an *api.Error, and nothing was touched.
func Acquire(n Node, c Claim) (Record, error) {
	rec := Record{UID: c.UID, Namespace: c.Namespace, Name: c.Name, State: Preparing, Grant: &Grant{Devices: []Granted{}}}
	spec := WriteSpec{Claim: c.UID}
	for _, ask := range c.Asks {
		d, ok := n.Devices[ask.Device]
		if !ok {
			return Record{}, api.Errorf(api.NotFound, "request %s was allocated device %s, which node %s does not have; delete the pod to have it scheduled again", ask.Request, ask.Device, n.Pool)
		}
		if err := n.mayHave(d, c, ask, rec.Holds); err != nil {
			return Record{}, err
		}
		name := c.UID + "-" + d.Name
		spec.add(SpecDevice{Name: name, Address: d.Address, UUID: d.UUID})
		rec.hold(Hold{Slot: d.Name, Claim: c.UID, Share: ask.Share, Namespace: c.Namespace, Name: c.Name, Admin: ask.Admin})
		rec.Grant.Devices = append(rec.Grant.Devices, Granted{Request: ask.Request, Pool: n.Pool, Device: d.Name, Share: ask.Share, CDI: []string{api.CDIKind + "=" + name}})
	}
	if len(spec.Devices) > 0 {
		rec.Steps = append(rec.Steps, spec)
	}
	return rec, nil
}

// mayHave refuses a device that is out of service, that another claim holds, or
// that this claim was given twice. Admin asks neither hold nor are held off; all
// they need is a GPU that answers.
func (n Node) mayHave(d Device, c Claim, ask Ask, mine []Hold) error {
	if ask.Admin && d.Condition != Lost {
		return nil
	}
	if err := d.Refusal(); err != nil {
		return err
	}
	for _, h := range mine {
		if h.Slot == d.Name && !h.Admin {
			return api.Errorf(api.Invalid, "claim %s/%s was allocated %s twice (request %s); a whole GPU has one holder", c.Namespace, c.Name, d.Name, ask.Request)
		}
	}
	for _, h := range n.Holds {
		if h.Slot == d.Name && h.Claim != c.UID && !h.Admin {
			return api.Errorf(api.Held, "%s is held by claim %s/%s (UID %s), which has not been released on this node yet; the kubelet tries again", d.Name, h.Namespace, h.Name, h.Claim)
		}
	}
	return nil
}

// add appends the device unless the spec has it already: two requests for one
// device share its CDI name.
func (s *WriteSpec) add(d SpecDevice) {
	for _, have := range s.Devices {
		if have.Name == d.Name {
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
			return
		}
	}
	r.Holds = append(r.Holds, h)
}
