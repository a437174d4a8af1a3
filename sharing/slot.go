// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "github.com/cotenant-dev/cotenant/mig"

// Slot is a device as it is published: something a claim can hold. What it says
// never changes while it is published; an edit makes another slot.
type Slot struct {
	// Name is the device name.
	Name string
	// Part is the partition that it is, or nil.
	Part *Part
	// Shared says how a whole GPU is shared between claims; nil when one claim has
	// the slot at a time.
	Shared *Shared
}

// Part is the partition that a slot is.
type Part struct {
	// Profile is as it was when the slot was published, without its placements.
	Profile mig.Profile
	mig.Placement
	// UUID is that of an instance that is there; "" for one that is made for a
	// claim.
	UUID string
}

// cost is what the part takes of its GPU.
func (p Part) cost() mig.Amounts {
	alone := p.Profile
	alone.Placements = []mig.Placement{p.Placement}
	amounts, _ := mig.Geometry{alone}.Cost(mig.Partition{Profile: p.Profile.ID, Placement: p.Placement})
	return amounts
}

// sameAs says whether two slots of one name are one and the same device.
func (s Slot) sameAs(t Slot) bool {
	if (s.Part == nil) != (t.Part == nil) || (s.Shared == nil) != (t.Shared == nil) {
		return false
	}
	if s.Shared != nil {
		return *s.Shared == *t.Shared
	}
	if s.Part == nil {
		return true
	}
	a, b := s.Part, t.Part
	return a.Placement == b.Placement && a.UUID == b.UUID && a.Profile.ID == b.Profile.ID &&
		a.Profile.Name == b.Profile.Name && a.Profile.MemoryMiB == b.Profile.MemoryMiB && a.Profile.Engines == b.Profile.Engines
}

// onDemand says whether the slot is a partition that is made for a claim.
func (s Slot) onDemand() bool { return s.Part != nil && s.Part.UUID == "" }

// overlaps says whether the two slots of one GPU are partly the same hardware.
func (s Slot) overlaps(t Slot) bool {
	return s.Part == nil || t.Part == nil || s.Part.Overlaps(t.Part.Placement)
}
