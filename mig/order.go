// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"cmp"
	"slices"
)

// Partitions are all placements of all profiles, in the order in which they are
// best offered to somebody who takes the first that suits.
//
// Small profiles come before large ones, so that a request which does not name a
// profile does not take more than it needs. Within a profile, each next start is
// the one that, beside those before it, leaves the most placements of larger
// profiles possible; of equals it is the last.
func (g Geometry) Partitions() []Partition {
	var out []Partition
	for _, p := range slices.SortedFunc(slices.Values(g), bySize) {
		for _, pl := range fillingOrder(p.Placements, g.larger(p)) {
			out = append(out, Partition{Profile: p.ID, Placement: pl})
		}
	}
	return out
}

// bySize compares what profiles take, the scarcest first: memory units, compute
// slices, multiprocessors, and then the other engines together.
func bySize(a, b Profile) int {
	return cmp.Or(
		cmp.Compare(a.units(), b.units()),
		cmp.Compare(a.Slices, b.Slices),
		cmp.Compare(a.Multiprocessors, b.Multiprocessors),
		cmp.Compare(a.Engines.count(), b.Engines.count()),
		cmp.Compare(a.ID, b.ID),
	)
}

// larger are the placements of all profiles that have more units than p, or as
// many and more compute slices.
func (g Geometry) larger(p Profile) []Placement {
	var out []Placement
	for _, q := range g {
		if cmp.Or(cmp.Compare(q.units(), p.units()), cmp.Compare(q.Slices, p.Slices)) > 0 {
			out = append(out, q.Placements...)
		}
	}
	return out
}

// fillingOrder orders the placements of one profile: first the one that is in
// the way of the fewest of the larger, then the one that is in the way of the
// fewest that are left, and so on.
func fillingOrder(placements, larger []Placement) []Placement {
	left := slices.SortedFunc(slices.Values(placements), func(a, b Placement) int { return cmp.Compare(b.Start, a.Start) })
	out := make([]Placement, 0, len(left))
	for len(left) > 0 {
		best := slices.MinFunc(left, func(a, b Placement) int {
			return cmp.Compare(overlapping(a, larger), overlapping(b, larger))
		})
		out = append(out, best)
		left = slices.DeleteFunc(left, func(p Placement) bool { return p == best })
		larger = slices.DeleteFunc(larger, best.Overlaps)
	}
	return out
}

func overlapping(p Placement, others []Placement) int {
	n := 0
	for _, o := range others {
		if p.Overlaps(o) {
			n++
		}
	}
	return n
}

// units is the number of units of a placement, the most where they differ.
func (p Profile) units() int {
	units := 0
	for _, pl := range p.Placements {
		units = max(units, pl.Size)
	}
	return units
}

func (e Engines) count() int {
	return e.CopyEngines + e.Decoders + e.Encoders + e.JPEGEngines + e.OFAEngines
}
