// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "slices"

// CreateGI makes a GPU instance of a profile, named by id, at start; without a
// start the driver chooses. The instance is valid until the state changes.
func (s *State) CreateGI(g *GPU, profileID int, start *int) (*GPUInstance, Code) {
	p, err := LookupProduct(g.Product)
	if err != nil {
		return nil, Unknown
	}
	if !g.MIG.Current {
		return nil, NotSupported
	}
	pr, ok := p.ProfileByID(profileID)
	if !ok {
		return nil, InvalidArgument
	}
	at, ok := p.choose(g.GIs, pr)
	if start != nil {
		at, ok = *start, p.Fits(g.GIs, profileID, *start)
	}
	if !ok {
		return nil, Insufficient
	}
	gi := GPUInstance{ProfileID: profileID, Start: at, Size: pr.MemoryUnits, Seq: s.nextSeq()}
	gi.ID = s.freeGI(g, p, gi)
	g.GIs = append(g.GIs, gi)
	s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
	return &g.GIs[len(g.GIs)-1], Success
}

// CreateCI makes a compute instance of a profile, named by id, in gi. Without a
// start it takes the first that is free.
func (s *State) CreateCI(g *GPU, gi *GPUInstance, profileID int, start *int) (*ComputeInstance, Code) {
	c, code := gi.computeProfile(g, profileID)
	if code != Success {
		return nil, code
	}
	if c.Listed {
		return nil, NotSupported
	}
	free := gi.freeStarts(c)
	if start != nil {
		free = slices.DeleteFunc(free, func(at int) bool { return at != *start })
	}
	if len(free) == 0 {
		return nil, Insufficient
	}
	ci := ComputeInstance{ProfileID: profileID, Start: free[0], Size: c.Slices, Index: g.freeIndex(), Seq: s.nextSeq()}
	ci.ID = s.freeCI(gi, ci.Seq)
	ci.UUID = s.migUUID(g, gi.ID, ci)
	gi.CIs = append(gi.CIs, ci)
	s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
	return &gi.CIs[len(gi.CIs)-1], Success
}

// computeProfile finds a compute instance profile of gi by id.
func (gi *GPUInstance) computeProfile(g *GPU, id int) (ComputeProfile, Code) {
	p, err := LookupProduct(g.Product)
	pr, ok := p.ProfileByID(gi.ProfileID)
	if err != nil || !ok {
		return ComputeProfile{}, Unknown
	}
	c, ok := p.ComputeProfile(pr, id)
	if !ok {
		return ComputeProfile{}, InvalidArgument
	}
	return c, Success
}

// freeStarts are where a compute instance of c can be made in gi.
func (gi *GPUInstance) freeStarts(c ComputeProfile) []int {
	return slices.DeleteFunc(c.Starts(), func(at int) bool {
		return slices.ContainsFunc(gi.CIs, func(ci ComputeInstance) bool {
			return at < ci.Start+ci.Size && ci.Start < at+c.Slices
		})
	})
}

// RemainingCIs is how many more compute instances of c can be made in gi.
func (gi *GPUInstance) RemainingCIs(c ComputeProfile) int { return len(gi.freeStarts(c)) }

// DestroyGI destroys a GPU instance, which must have neither compute instance
// nor process.
func (s *State) DestroyGI(g *GPU, gi *GPUInstance) Code {
	if len(gi.CIs) > 0 || s.busy(g, &gi.ID, nil) {
		return InUse
	}
	seq := gi.Seq
	g.GIs = slices.DeleteFunc(g.GIs, func(i GPUInstance) bool { return i.Seq == seq })
	s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
	return Success
}

// DestroyCI destroys a compute instance, which must have no process.
func (s *State) DestroyCI(g *GPU, gi *GPUInstance, ci *ComputeInstance) Code {
	if s.busy(g, &gi.ID, &ci.ID) {
		return InUse
	}
	seq := ci.Seq
	gi.CIs = slices.DeleteFunc(gi.CIs, func(i ComputeInstance) bool { return i.Seq == seq })
	s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
	return Success
}

// nextSeq numbers what is made.
func (s *State) nextSeq() uint64 {
	s.InstanceSeq++
	return s.InstanceSeq
}
