// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// counts are what an enumeration of a table finds: legal layouts with the empty
// one, those to which nothing can be added, and how many of these differ in more
// than where things are.
type counts struct{ legal, maximal, multisets int }

// TestLegalLayouts enumerates what the machine's own rules allow on the tables.
// The counts are known for the real tables, so a wrong row or rule shows.
func TestLegalLayouts(t *testing.T) {
	hopper := counts{2319, 239, 64}
	for product, want := range map[string]counts{
		"A30-24": {76, 17, 8}, "RTX-PRO-6000": {717, 302, 64},
		"A100-40": hopper, "A100-80": hopper, "H100-80": hopper, "H100-NVL-94": hopper, "H200-141": hopper, "GH200-96": hopper,
		"B200-180": hopper, "GB200-186": hopper,
	} {
		p, err := sim.LookupProduct(product)
		must(t, err)
		if got := enumerate(p); got != want {
			t.Errorf("%s: %+v, want %+v", product, got, want)
		}
	}
}

// TestClassicLayouts: with the five profiles there were at first an A100 has the
// nineteen layouts of NVIDIA's figure.
func TestClassicLayouts(t *testing.T) {
	p, err := sim.LookupProduct("A100-40")
	must(t, err)
	p.Profiles = slices.DeleteFunc(p.Profiles, func(pr sim.Profile) bool { return pr.ID == 20 || pr.ID == 15 })
	if got := enumerate(p); got.maximal != 19 || got.multisets != 14 {
		t.Errorf("%+v, want 19 maximal layouts, 14 as multisets", got)
	}
}

func enumerate(p sim.Product) counts {
	var n counts
	sets := map[string]bool{}
	walk(p, nil, 0, func(gis []sim.GPUInstance) {
		n.legal++
		if !canGrow(p, gis) {
			n.maximal++
			sets[multiset(gis)] = true
		}
	})
	n.multisets = len(sets)
	return n
}

// walk visits gis and every layout that grows from it by places from from on.
func walk(p sim.Product, gis []sim.GPUInstance, from int, visit func([]sim.GPUInstance)) {
	visit(gis)
	place := 0
	for _, pr := range p.Profiles {
		for _, start := range pr.Starts {
			if place++; place > from && p.Fits(gis, pr.ID, start) {
				walk(p, append(slices.Clone(gis), sim.GPUInstance{ProfileID: pr.ID, Start: start, Size: pr.MemoryUnits}), place, visit)
			}
		}
	}
}

func canGrow(p sim.Product, gis []sim.GPUInstance) bool {
	return slices.ContainsFunc(p.Profiles, func(pr sim.Profile) bool { return p.Remaining(gis, pr) > 0 })
}

func multiset(gis []sim.GPUInstance) string {
	var ids []string
	for _, gi := range gis {
		ids = append(ids, fmt.Sprint(gi.ProfileID))
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}
