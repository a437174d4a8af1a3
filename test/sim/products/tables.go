// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package products has the tables of the simulated GPU as the geometry that a
// driver would report, for tests of rooms that know nothing of the simulator. It
// builds wherever they do.
//
// It may import mig. Only tests and programs under test import it.
package products

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cotenant-dev/cotenant/mig"
)

//go:embed *.json
var files embed.FS

// Product is a model of GPU, as far as tests of geometry ask. Package sim reads
// all of the same files.
type Product struct {
	Name          string
	Architecture  string
	MemoryMiB     int64
	MIGNeedsReset bool
	Profiles      []Profile
}

// Profile is a row of the product's MIG table; sim.Profile documents it.
type Profile struct {
	Index, ID, ComputeSlices, MemoryUnits, Max int
	Name                                       string
	MemoryMiB                                  int64
	SMs, CopyEngines, Decoders, Encoders       int
	JPEG, OFA                                  int
	Starts                                     []int
}

// All returns every product by its name, "A100-40".
func All() (map[string]Product, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	out := map[string]Product{}
	for _, e := range entries {
		raw, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		var p Product
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("products/%s: %w", e.Name(), err)
		}
		out[strings.TrimSuffix(e.Name(), ".json")] = p
	}
	return out, nil
}

// Get returns the product of that name.
func Get(name string) (Product, error) {
	all, err := All()
	if err != nil {
		return Product{}, err
	}
	p, ok := all[name]
	if !ok {
		return Product{}, fmt.Errorf("there is no table for %s", name)
	}
	return p, nil
}

// Geometry is what a driver reports of the GPU. One that cannot be partitioned
// has none.
func (p Product) Geometry() mig.Geometry {
	var g mig.Geometry
	for _, r := range p.Profiles {
		profile := mig.Profile{
			Index: r.Index, ID: r.ID, Name: r.Name, Slices: r.ComputeSlices, Max: r.Max, MemoryMiB: r.MemoryMiB,
			Engines: mig.Engines{
				Multiprocessors: r.SMs, CopyEngines: r.CopyEngines, Decoders: r.Decoders, Encoders: r.Encoders,
				JPEGEngines: r.JPEG, OFAEngines: r.OFA,
			},
		}
		for _, start := range r.Starts {
			profile.Placements = append(profile.Placements, mig.Placement{Start: start, Size: r.MemoryUnits})
		}
		g = append(g, profile)
	}
	return g
}
