// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// displayed is the memory that nvidia-smi mig -lgip prints, in GiB, by profile
// id: the figures the tables were made from.
var displayed = map[string]map[int]float64{
	"A30-24":   {14: 5.81, 21: 5.81, 5: 11.69, 6: 11.69, 0: 23.44},
	"A100-40":  {19: 4.75, 20: 4.75, 15: 9.62, 14: 9.62, 9: 19.50, 5: 19.50, 0: 39.25},
	"A100-80":  {19: 9.50, 20: 9.50, 15: 19.50, 14: 19.50, 9: 39.25, 5: 39.25, 0: 79.00},
	"H100-80":  {19: 9.75, 20: 9.75, 15: 19.62, 14: 19.62, 9: 39.50, 5: 39.50, 0: 79.25},
	"H200-141": {19: 16.00, 20: 16.00, 15: 32.25, 14: 32.25, 9: 69.50, 5: 69.50, 0: 139.75},
}

func TestProfileMemory(t *testing.T) {
	for product, want := range displayed {
		p, err := sim.LookupProduct(product)
		must(t, err)
		if len(p.Profiles) != len(want) {
			t.Errorf("%s has %d profiles, want %d", product, len(p.Profiles), len(want))
		}
		for _, pr := range p.Profiles {
			if got := float64(pr.MemoryMiB) / 1024; math.Abs(got-want[pr.ID]) > 0.0051 {
				t.Errorf("%s %s: %.4f GiB, want %.2f", product, pr.Name, got, want[pr.ID])
			}
		}
	}
}

// TestLegalLayouts counts what the tables allow under NVIDIA's rules: free
// units, Max, compute slices, SMs and engines. The counts are known for the
// real tables, so a wrong row shows.
func TestLegalLayouts(t *testing.T) {
	for product, want := range map[string]int{"A30-24": 76, "A100-40": 2319, "A100-80": 2319, "H100-80": 2319, "H200-141": 2319} {
		p, err := sim.LookupProduct(product)
		must(t, err)
		if got := layouts(p, layout{whole: whole(p)}, 0); got != want {
			t.Errorf("%s: %d legal layouts, want %d", product, got, want)
		}
	}
}

type layout struct {
	whole sim.Profile // what is left of the GPU's slices, SMs and engines
	units uint64      // bits of the occupied memory units
	count [8]int      // instances by position of the profile in the table
}

// whole is the profile that takes everything.
func whole(p sim.Product) sim.Profile {
	all := p.Profiles[0]
	for _, pr := range p.Profiles {
		if pr.SMs > all.SMs {
			all = pr
		}
	}
	return all
}

// layouts counts the sets of placements that can be added to l, itself
// included; places before from were decided already.
func layouts(p sim.Product, l layout, from int) int {
	n, place := 1, 0
	for i, pr := range p.Profiles {
		for _, start := range pr.Starts {
			if place++; place <= from {
				continue
			}
			if next, ok := l.with(i, pr, start); ok {
				n += layouts(p, next, place)
			}
		}
	}
	return n
}

func (l layout) with(i int, pr sim.Profile, start int) (layout, bool) {
	bits := (uint64(1)<<pr.MemoryUnits - 1) << start
	w := &l.whole
	if l.units&bits != 0 || l.count[i] == pr.Max || w.ComputeSlices < pr.ComputeSlices || w.SMs < pr.SMs ||
		w.CopyEngines < pr.CopyEngines || w.Decoders < pr.Decoders || w.JPEG < pr.JPEG || w.OFA < pr.OFA {
		return l, false
	}
	l.units |= bits
	l.count[i]++
	w.ComputeSlices -= pr.ComputeSlices
	w.SMs -= pr.SMs
	w.CopyEngines -= pr.CopyEngines
	w.Decoders -= pr.Decoders
	w.JPEG -= pr.JPEG
	w.OFA -= pr.OFA
	return l, true
}

func TestEveryFigureHasASource(t *testing.T) {
	for _, name := range sim.Products() {
		p, err := sim.LookupProduct(name)
		must(t, err)
		for _, field := range []string{"memoryMiB", "sms", "pciDeviceID", "computeMajor", "reservedMiB", "timeSlice"} {
			if p.Sources[field] == "" {
				t.Errorf("%s: %s has no source", name, field)
			}
		}
		for _, pr := range p.Profiles {
			if pr.Source == "" {
				t.Errorf("%s %s has no source", name, pr.Name)
			}
		}
		if p.MIG != (len(p.Profiles) > 0) {
			t.Errorf("%s: MIG is %t with %d profiles", name, p.MIG, len(p.Profiles))
		}
	}
	if _, err := sim.LookupProduct("H100"); err == nil || !strings.Contains(err.Error(), "H100-80") {
		t.Errorf("an unknown product: %v, want a list of the known", err)
	}
}
