// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
)

// row is one row of a table in test/sim/products, and product the file. They are
// read as plain files: mig knows nothing of the simulated GPU.
type row struct {
	Index, ID, ComputeSlices, MemoryUnits, Max int
	Name                                       string
	MemoryMiB                                  int64
	SMs, CopyEngines, Decoders, Encoders       int
	JPEG, OFA                                  int
	Starts                                     []int
}

type product struct {
	MemoryMiB int64
	Profiles  []row
}

func (r row) profile() mig.Profile {
	p := mig.Profile{
		Index: r.Index, ID: r.ID, Name: r.Name, Slices: r.ComputeSlices, Max: r.Max, MemoryMiB: r.MemoryMiB,
		Engines: mig.Engines{
			Multiprocessors: r.SMs, CopyEngines: r.CopyEngines, Decoders: r.Decoders, Encoders: r.Encoders,
			JPEGEngines: r.JPEG, OFAEngines: r.OFA,
		},
	}
	for _, s := range r.Starts {
		p.Placements = append(p.Placements, mig.Placement{Start: s, Size: r.MemoryUnits})
	}
	return p
}

func (p product) geometry() mig.Geometry {
	var g mig.Geometry
	for _, r := range p.Profiles {
		g = append(g, r.profile())
	}
	return g
}

// products are the tables of the GPUs that can be partitioned, by file name.
func products(t *testing.T) map[string]product {
	t.Helper()
	files, err := filepath.Glob("../test/sim/products/*.json")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]product{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var p product
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if len(p.Profiles) > 0 {
			out[strings.TrimSuffix(filepath.Base(f), ".json")] = p
		}
	}
	if len(out) == 0 {
		t.Fatal("no tables under test/sim/products")
	}
	return out
}

func geometry(t *testing.T, name string) mig.Geometry {
	t.Helper()
	p, ok := products(t)[name]
	if !ok {
		t.Fatalf("no table for %s under test/sim/products", name)
	}
	return p.geometry()
}

// everyTable runs a test on each table.
func everyTable(t *testing.T, test func(t *testing.T, g mig.Geometry)) {
	for name, p := range products(t) {
		t.Run(name, func(t *testing.T) { test(t, p.geometry()) })
	}
}

// at is the partition of the profile with that name which begins there.
func at(t *testing.T, g mig.Geometry, name string, start int) mig.Partition {
	t.Helper()
	for _, p := range g.Partitions() {
		if profile, _ := g.Profile(p.Profile); profile.Name == name && p.Start == start {
			return p
		}
	}
	t.Fatalf("no %s at %d", name, start)
	return mig.Partition{}
}
