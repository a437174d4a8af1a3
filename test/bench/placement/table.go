// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math/bits"

	"github.com/cotenant-dev/cotenant/mig"
)

// layout is what a GPU is partitioned into: a set of indexes into the
// partitions of its table.
type layout uint64

func (l layout) has(i int) bool       { return l&(1<<i) != 0 }
func (l layout) with(i int) layout    { return l | 1<<i }
func (l layout) without(i int) layout { return l &^ (1 << i) }
func (l layout) len() int             { return bits.OnesCount64(uint64(l)) }

// table is everything that can become of one GPU. It does not change once made.
type table struct {
	geometry   mig.Geometry
	partitions []mig.Partition
	index      map[mig.Partition]int
	// fitting is, for each layout that can be reached, what fits beside it.
	fitting map[layout]layout
	// of are the partitions of each profile, by its ID; larger are those of all
	// profiles that have more of the GPU's memory, or as much and more slices.
	of, larger map[int]layout
}

func newTable(g mig.Geometry) *table {
	t := &table{
		geometry: g, partitions: g.Partitions(), index: map[mig.Partition]int{},
		fitting: map[layout]layout{}, of: map[int]layout{}, larger: map[int]layout{},
	}
	for i, p := range t.partitions {
		t.index[p] = i
		t.of[p.Profile] = t.of[p.Profile].with(i)
	}
	for _, p := range g {
		for _, q := range g {
			if q.MemoryMiB > p.MemoryMiB || (q.MemoryMiB == p.MemoryMiB && q.Slices > p.Slices) {
				t.larger[p.ID] |= t.of[q.ID]
			}
		}
	}
	t.reach(0, nil)
	return t
}

// reach notes what fits beside a layout, and beside those that follow from it.
func (t *table) reach(l layout, live []mig.Partition) {
	if _, known := t.fitting[l]; known {
		return
	}
	var fits layout
	for i, p := range t.partitions {
		if t.geometry.Fits(live, p) == nil {
			fits = fits.with(i)
		}
	}
	t.fitting[l] = fits
	for i, p := range t.partitions {
		if fits.has(i) {
			t.reach(l.with(i), append(live[:len(live):len(live)], p))
		}
	}
}

// compute is the part of the GPU's compute slices that an instance of the profile
// has.
func (t *table) compute(profile int) float64 {
	whole := 0
	for _, p := range t.geometry {
		whole = max(whole, p.Slices)
	}
	p, _ := t.geometry.Profile(profile)
	return float64(p.Slices) / float64(whole)
}

// memory is the part of the GPU's memory that an instance of the profile has.
func (t *table) memory(profile int) float64 {
	var whole int64
	for _, p := range t.geometry {
		whole = max(whole, p.MemoryMiB)
	}
	p, _ := t.geometry.Profile(profile)
	return float64(p.MemoryMiB) / float64(whole)
}

func (t *table) name(profile int) string {
	p, _ := t.geometry.Profile(profile)
	return p.Name
}
