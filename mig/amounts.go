// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig

import (
	"slices"
	"strconv"
)

// Amount is one of the things that partitions of a GPU compete for.
type Amount struct {
	// Name is that of the counter which the upstream driver publishes.
	Name string
	// Value is bytes for "memory" and pieces for everything else.
	Value int64
}

// Amounts are listed in one fixed order: engines, memory, memory slices.
type Amounts []Amount

// Total is what the whole GPU has: of everything as much as the profile with
// the most of it, and each memory slice once. It is empty without profiles.
func (g Geometry) Total() Amounts {
	if len(g) == 0 {
		return nil
	}
	var memory int64
	for _, p := range g {
		memory = max(memory, p.MemoryMiB)
	}
	return amounts(g.engines(), memory, Placement{Size: g.Units()})
}

// Cost is what a partition takes of the total: what its profile has, and its own
// memory slices. The second result is false for a partition that is not one of
// this GPU.
func (g Geometry) Cost(p Partition) (Amounts, bool) {
	profile, ok := g.Profile(p.Profile)
	if !ok || !slices.Contains(profile.Placements, p.Placement) {
		return nil, false
	}
	return amounts(profile.stock(), profile.MemoryMiB, p.Placement), true
}

// Cover returns the least that has as much of everything as a and as b.
func (a Amounts) Cover(b Amounts) Amounts {
	out := slices.Clone(a)
	for _, more := range b {
		i := slices.IndexFunc(out, func(x Amount) bool { return x.Name == more.Name })
		if i < 0 {
			out = append(out, more)
			continue
		}
		out[i].Value = max(out[i].Value, more.Value)
	}
	return out
}

// engineNames are the counters of the engines, in the order of a stock.
var engineNames = [...]string{"multiprocessors", "copy-engines", "decoders", "encoders", "jpeg-engines", "ofa-engines"}

// stock is a number of engines of each kind.
type stock [len(engineNames)]int64

func (e Engines) stock() stock {
	return stock{
		int64(e.Multiprocessors), int64(e.CopyEngines), int64(e.Decoders),
		int64(e.Encoders), int64(e.JPEGEngines), int64(e.OFAEngines),
	}
}

// engines is what the GPU has: of each kind as many as the profile with the most.
func (g Geometry) engines() stock {
	var most stock
	for _, p := range g {
		for i, n := range p.stock() {
			most[i] = max(most[i], n)
		}
	}
	return most
}

func amounts(engines stock, memoryMiB int64, units Placement) Amounts {
	out := make(Amounts, 0, len(engines)+1+units.Size)
	for i, n := range engines {
		out = append(out, Amount{engineNames[i], n})
	}
	out = append(out, Amount{"memory", memoryMiB << 20})
	for i := units.Start; i < units.end(); i++ {
		out = append(out, Amount{"memory-slice-" + strconv.Itoa(i), 1})
	}
	return out
}
