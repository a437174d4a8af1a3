// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "github.com/cotenant-dev/cotenant/mig"

// occupancy is what of a GPU holds and instances take.
type occupancy struct {
	// whole is the hold on the whole GPU, or nil.
	whole *Hold
	// shares are the holds on the GPU as a shared one.
	shares []Hold
	// parts are the partitions that are held, each with its hold.
	parts []taken
	// unknown is a hold on a partition that the GPU's geometry does not have: it
	// may lie anywhere.
	unknown *Hold
}

type taken struct {
	mig.Partition
	Hold
}

// occupied sums up the holds that keep others away from the GPU.
func (d Device) occupied(holds []Hold) occupancy {
	var o occupancy
	for _, h := range holds {
		p, ok := parseSlot(h.Slot)
		if !ok || p.gpu != d.Name || h.Admin {
			continue
		}
		if p.shared {
			o.shares = append(o.shares, h)
			continue
		}
		if p.whole {
			o.whole = &h
			continue
		}
		at, ok := d.partition(p)
		if !ok {
			o.unknown = &h
			continue
		}
		o.parts = append(o.parts, taken{Partition: at, Hold: h})
	}
	return o
}

// holder returns a hold on any part of the GPU, or nil.
func (o occupancy) holder() *Hold {
	if o.whole == nil && len(o.parts) > 0 {
		return &o.parts[0].Hold
	}
	return o.all()
}

// all returns a hold on all of the GPU, alone or shared, or one of which it is not
// known where it lies; nil when there is none.
func (o occupancy) all() *Hold {
	if o.whole == nil && len(o.shares) > 0 {
		return &o.shares[0]
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
	return o.all()
}

// besides returns a hold that a share of the slot would overlap, or nil, and how
// many shares of the slot itself are held.
func (o occupancy) besides(slot string) (*Hold, int) {
	same := 0
	rest := o
	rest.shares = nil
	for _, h := range o.shares {
		if h.Slot == slot {
			same++
		} else {
			rest.shares = append(rest.shares, h)
		}
	}
	return rest.holder(), same
}
