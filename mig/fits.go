// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"fmt"
	"slices"
)

// Fits says whether a partition can be made beside those that are live: nil, or
// an error that names the partition and what is in its way.
//
// It can when it is one of this GPU's, its units are free, the GPU does not have
// the most of its profile already, and enough is left of the compute slices and
// of every kind of engine. These rules give exactly the layouts of NVIDIA's
// tables. The counters say the same of every set; a test holds that.
//
// A live partition of a profile that the GPU does not report makes everything
// unfit: what it takes is not known.
func (g Geometry) Fits(live []Partition, p Partition) error {
	if len(g) == 0 {
		return fmt.Errorf("profile %d at %d does not fit: the GPU cannot be partitioned", p.Profile, p.Start)
	}
	profile, ok := g.Profile(p.Profile)
	if !ok {
		return fmt.Errorf("the GPU has no profile %d: choose one of %v", p.Profile, g.ids())
	}
	if !slices.Contains(profile.Placements, p.Placement) {
		return fmt.Errorf("%s cannot lie at %d with %d units: choose a start of %v, with %d",
			profile.Name, p.Start, p.Size, profile.starts(), profile.units())
	}
	if err := g.obstacle(live, p, profile); err != nil {
		return fmt.Errorf("%s does not fit: %w", g.describe(p), err)
	}
	return nil
}

// obstacle is the first rule that forbids the partition beside the live ones.
func (g Geometry) obstacle(live []Partition, p Partition, profile Profile) error {
	same, compute, engines := 0, profile.Slices, profile.stock()
	for _, l := range live {
		other, ok := g.Profile(l.Profile)
		if !ok {
			return fmt.Errorf("the GPU has an instance of profile %d at %d, which it does not report: destroy the instance", l.Profile, l.Start)
		}
		if p.Overlaps(l.Placement) {
			return fmt.Errorf("%s takes its units", g.describe(l))
		}
		if l.Profile == p.Profile {
			same++
		}
		compute += other.Slices
		for i, n := range other.stock() {
			engines[i] += n
		}
	}
	if same >= profile.Max {
		return fmt.Errorf("the GPU has %d of %s already, which is the most", same, profile.Name)
	}
	if all := g.Slices(); compute > all {
		return fmt.Errorf("it needs %d compute slices, and %d of %d are free", profile.Slices, all-compute+profile.Slices, all)
	}
	for i, all := range g.engines() {
		if need := profile.stock()[i]; engines[i] > all {
			return fmt.Errorf("it needs %d %s, and %d of %d are free", need, engineNames[i], all-engines[i]+need, all)
		}
	}
	return nil
}

func (g Geometry) ids() []int {
	out := make([]int, len(g))
	for i, p := range g {
		out[i] = p.ID
	}
	return out
}

// starts are where the placements begin.
func (p Profile) starts() []int {
	out := make([]int, len(p.Placements))
	for i, pl := range p.Placements {
		out[i] = pl.Start
	}
	return out
}
