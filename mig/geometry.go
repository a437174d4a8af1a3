// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig

import "fmt"

// Profile finds a profile by its ID. The second result is false for one that the
// GPU does not have.
func (g Geometry) Profile(id int) (Profile, bool) {
	for _, p := range g {
		if p.ID == id {
			return p, true
		}
	}
	return Profile{}, false
}

// Units is the number of placement units of the GPU, which is where the last
// placement ends: 8 on an A100, 12 on an RTX PRO 6000, 0 without profiles.
func (g Geometry) Units() int {
	units := 0
	for _, p := range g {
		for _, pl := range p.Placements {
			units = max(units, pl.end())
		}
	}
	return units
}

// Slices is the number of compute slices of the GPU, those of its largest
// profile: 7 on an A100, 4 on an A30.
func (g Geometry) Slices() int {
	slices := 0
	for _, p := range g {
		slices = max(slices, p.Slices)
	}
	return slices
}

// end is the unit after the last.
func (p Placement) end() int { return p.Start + p.Size }

// describe is how a partition is written for people: "1g.10gb at 6".
func (g Geometry) describe(p Partition) string {
	if profile, ok := g.Profile(p.Profile); ok {
		return fmt.Sprintf("%s at %d", profile.Name, p.Start)
	}
	return fmt.Sprintf("profile %d at %d", p.Profile, p.Start)
}
