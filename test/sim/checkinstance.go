// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"regexp"
)

// migForm has the two forms of the drivers' ages.
var migForm = regexp.MustCompile(`^MIG-([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/\d+/\d+)$`)

// checkInstances proves the rules of placement and identity on one GPU.
func (g GPU) checkInstances(p Product) error {
	if len(g.GIs) > 0 && !g.MIG.Current {
		return fmt.Errorf("GPU %s has %d GPU instances with MIG off", g.UUID, len(g.GIs))
	}
	if _, sound := p.occupied(g.GIs); !sound {
		return fmt.Errorf("GPU %s: the GPU instances %+v cannot be beside each other on a %s", g.UUID, g.GIs, g.Product)
	}
	ids, indexes := map[int]bool{}, map[int]bool{}
	for _, gi := range g.GIs {
		if ids[gi.ID] || gi.ID < 0 || gi.ID >= maxGIs {
			return fmt.Errorf("GPU %s: GPU instance id %d is there twice or outside 0..%d", g.UUID, gi.ID, maxGIs-1)
		}
		ids[gi.ID] = true
		pr, _ := p.ProfileByID(gi.ProfileID)
		if err := gi.check(p, pr, indexes); err != nil {
			return fmt.Errorf("GPU %s: GPU instance %d: %w", g.UUID, gi.ID, err)
		}
	}
	return nil
}

// check proves the rules of the compute instances in one GPU instance.
func (gi GPUInstance) check(p Product, pr Profile, indexes map[int]bool) error {
	slices := make([]bool, pr.ComputeSlices)
	ids := map[int]bool{}
	for _, ci := range gi.CIs {
		c, ok := p.ComputeProfile(pr, ci.ProfileID)
		switch {
		case !ok || ci.Size != c.Slices || ci.Start < 0 || ci.Start+ci.Size > len(slices):
			return fmt.Errorf("compute instance %+v has no place in profile %s", ci, pr.Name)
		case ids[ci.ID] || ci.ID < 0 || ci.ID >= maxCIs:
			return fmt.Errorf("compute instance id %d is there twice or outside 0..%d", ci.ID, maxCIs-1)
		case indexes[ci.Index] || ci.Index < 0 || ci.Index >= p.MaxMIGDevices():
			return fmt.Errorf("MIG device index %d is there twice or outside 0..%d", ci.Index, p.MaxMIGDevices()-1)
		case !migForm.MatchString(ci.UUID):
			return fmt.Errorf("MIG UUID %q is neither of the form MIG-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx nor MIG-GPU-…/gi/ci", ci.UUID)
		case !validComputeMode(ci.ComputeMode):
			return fmt.Errorf("compute instance %d: compute mode %d does not exist", ci.ID, ci.ComputeMode)
		}
		ids[ci.ID], indexes[ci.Index] = true, true
		for at := ci.Start; at < ci.Start+ci.Size; at++ {
			if slices[at] {
				return fmt.Errorf("compute slice %d belongs to two compute instances", at)
			}
			slices[at] = true
		}
	}
	return nil
}

// checkSeqs proves that no two things were made with one number.
func (s *State) checkSeqs(g GPU, seen map[uint64]bool) error {
	for _, gi := range g.GIs {
		seqs := []uint64{gi.Seq}
		for _, ci := range gi.CIs {
			seqs = append(seqs, ci.Seq)
		}
		for _, seq := range seqs {
			if seen[seq] || seq == 0 || seq > s.InstanceSeq {
				return fmt.Errorf("GPU %s: an instance has number %d, which another has or none was given yet (newest %d)", g.UUID, seq, s.InstanceSeq)
			}
			seen[seq] = true
		}
	}
	return nil
}

// checkPartition proves that a process is on what its GPU consists of.
func (s *State) checkPartition(p Process, g *GPU) error {
	if !g.MIG.Current {
		if p.GI != nil || p.CI != nil {
			return fmt.Errorf("process %d is on an instance of GPU %s, which has MIG off", p.PID, g.UUID)
		}
		return nil
	}
	if p.GI == nil || p.CI == nil {
		return fmt.Errorf("process %d is on GPU %s, which has MIG on: name a GPU instance and a compute instance", p.PID, g.UUID)
	}
	gi := g.GI(*p.GI)
	if gi == nil || gi.CI(*p.CI) == nil {
		return fmt.Errorf("process %d is on compute instance %d of GPU instance %d of GPU %s, which is not there", p.PID, *p.CI, *p.GI, g.UUID)
	}
	pr, _ := products[g.Product].ProfileByID(gi.ProfileID)
	if used := s.UsedByMiB(g.UUID, gi.ID); used > pr.MemoryMiB {
		return fmt.Errorf("the processes of GPU instance %d of GPU %s hold %d MiB, it has %d", gi.ID, g.UUID, used, pr.MemoryMiB)
	}
	return nil
}

// MaxMIGDevices is how many MIG devices a GPU can have.
func (p Product) MaxMIGDevices() int {
	smallest, _ := p.Profile(0)
	return smallest.Max
}
