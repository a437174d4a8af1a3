// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
)

// product is a file under test/sim/products. They are read as plain files:
// sharing knows nothing of the simulated GPU.
type product struct {
	Name, Brand, Architecture  string
	ComputeMajor, ComputeMinor int
	MemoryMiB                  int64
	MIGNeedsReset              bool
	Profiles                   []struct {
		Index, ID, ComputeSlices, MemoryUnits, Max int
		Name                                       string
		MemoryMiB                                  int64
		SMs, CopyEngines, Decoders, Encoders       int
		JPEG, OFA                                  int
		Starts                                     []int
	}
}

// products are the tables of the GPUs that can be partitioned, by file name.
func products(t testing.TB) map[string]product {
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

func (p product) geometry() mig.Geometry {
	var g mig.Geometry
	for _, r := range p.Profiles {
		profile := mig.Profile{
			Index: r.Index, ID: r.ID, Name: r.Name, Slices: r.ComputeSlices, Max: r.Max, MemoryMiB: r.MemoryMiB,
			Engines: mig.Engines{
				Multiprocessors: r.SMs, CopyEngines: r.CopyEngines, Decoders: r.Decoders, Encoders: r.Encoders,
				JPEGEngines: r.JPEG, OFAEngines: r.OFA,
			},
		}
		for _, s := range r.Starts {
			profile.Placements = append(profile.Placements, mig.Placement{Start: s, Size: r.MemoryUnits})
		}
		g = append(g, profile)
	}
	return g
}

// divisible is a ready GPU of a product, idle and with MIG mode off.
func divisible(t testing.TB, product, name string) Device {
	t.Helper()
	p, ok := products(t)[product]
	if !ok {
		t.Fatalf("no table for %s under test/sim/products", product)
	}
	d := device(name, Ready)
	d.Why, d.Product, d.MemoryBytes = "", p.Name, p.MemoryMiB<<20
	d.MIG = &MIG{Switchable: !p.MIGNeedsReset, Geometry: p.geometry()}
	return d
}

// on is the device with MIG mode on, and with these instances.
func (d Device) on(instances ...Instance) Device {
	d.MIGMode = MIGMode{On: true, Pending: true}
	d.Instances = instances
	return d
}

// at is the partition of the profile with that name which begins there.
func (d Device) at(t testing.TB, profile string, start int) mig.Partition {
	t.Helper()
	for _, p := range d.MIG.Geometry.Partitions() {
		if found, _ := d.MIG.Geometry.Profile(p.Profile); found.Name == profile && p.Start == start {
			return p
		}
	}
	t.Fatalf("%s has no %s at %d", d.Product, profile, start)
	return mig.Partition{}
}

// theirs is an instance that somebody else made, with its compute instance.
func (d Device) theirs(t testing.TB, profile string, start int) Instance {
	return Instance{GI: start + 1, Partition: d.at(t, profile, start), UUID: "MIG-" + profile, Foreign: true}
}

// where is the place of a partition that a claim is given.
func (d Device) where(t testing.TB, profile string, start int) Place {
	t.Helper()
	p := d.at(t, profile, start)
	found, _ := d.MIG.Geometry.Profile(p.Profile)
	return Place{Slot: PartitionName(d.Name, found, start), Address: d.Address, Partition: p}
}
