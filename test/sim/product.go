// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed products/*.json
var productFiles embed.FS

// Product is a model of GPU: the figures that do not change in its life. Each
// file under products/ names the sources of its rows.
type Product struct {
	Name          string `json:"name"`  // as nvmlDeviceGetName reports it
	Brand         string `json:"brand"` // a key of NVML's brand types, "NVIDIA", "TESLA"
	Architecture  string `json:"architecture"`
	ComputeMajor  int    `json:"computeMajor"`
	ComputeMinor  int    `json:"computeMinor"`
	MemoryMiB     uint64 `json:"memoryMiB"`   // total of nvmlDeviceGetMemoryInfo
	ReservedMiB   uint64 `json:"reservedMiB"` // system-reserved part of it
	SMs           int    `json:"sms"`         // multiprocessors with MIG off
	PCIDeviceID   uint16 `json:"pciDeviceID"`
	PCISubsystem  uint16 `json:"pciSubsystem"`
	PCIClass      uint32 `json:"pciClass"`
	SXM           bool   `json:"sxm"`           // sits on a baseboard, so has a module id
	MemoryQuery   bool   `json:"memoryQuery"`   // nvmlDeviceGetMemoryInfo is supported
	ECC           bool   `json:"ecc"`           // has ECC memory and reports its counters
	RowRemap      bool   `json:"rowRemap"`      // reports remapped rows
	MIG           bool   `json:"mig"`           // may be partitioned
	MIGNeedsReset bool   `json:"migNeedsReset"` // a change of MIG mode waits for a reset
	TimeSlice     bool   `json:"timeSlice"`     // nvidia-smi compute-policy is supported
	Addressing    string `json:"addressing"`    // "HMM", "ATS", or "" when not supported

	Profiles []Profile         `json:"profiles,omitempty"`
	Sources  map[string]string `json:"sources"`
}

// Profile is one row of the product's MIG table.
type Profile struct {
	Index         int    `json:"index"` // the argument of nvmlDeviceGetGpuInstanceProfileInfo
	ID            int    `json:"id"`    // what that call reports as Id
	Name          string `json:"name"`
	ComputeSlices int    `json:"computeSlices"`
	MemoryUnits   int    `json:"memoryUnits"` // size of a placement
	Max           int    `json:"max"`
	MemoryMiB     uint64 `json:"memoryMiB"`
	SMs           int    `json:"sms"`
	CopyEngines   int    `json:"copyEngines"`
	Decoders      int    `json:"decoders"`
	Encoders      int    `json:"encoders"`
	JPEG          int    `json:"jpeg"`
	OFA           int    `json:"ofa"`
	Starts        []int  `json:"starts"` // of placements, in memory units
	// Certainty is that of the row's least sure figure: A from several sources
	// that agree or from a whole table, B from one source, C partly by the
	// pattern of other rows.
	Certainty string `json:"certainty"`
	Source    string `json:"source"`
}

// Profile finds a profile by its index. The second result is false for one the
// product does not have.
func (p Product) Profile(index int) (Profile, bool) {
	for _, pr := range p.Profiles {
		if pr.Index == index {
			return pr, true
		}
	}
	return Profile{}, false
}

// ProfileByID finds a profile by its id. The second result is false for one the
// product does not have.
func (p Product) ProfileByID(id int) (Profile, bool) {
	for _, pr := range p.Profiles {
		if pr.ID == id {
			return pr, true
		}
	}
	return Profile{}, false
}

// Whole is the profile that takes the whole GPU: the one of the most memory,
// compute slices and engines. It is the zero Profile where there is no MIG.
func (p Product) Whole() Profile {
	var all Profile
	for _, pr := range p.Profiles {
		if pr.MemoryUnits > all.MemoryUnits {
			all = pr
		}
	}
	return all
}

// products is read once and never changes.
var products = mustLoadProducts()

func mustLoadProducts() map[string]Product {
	entries, err := productFiles.ReadDir("products")
	if err != nil {
		panic(err)
	}
	all := map[string]Product{}
	for _, e := range entries {
		b, err := productFiles.ReadFile("products/" + e.Name())
		if err != nil {
			panic(err)
		}
		var p Product
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.DisallowUnknownFields()
		if err := d.Decode(&p); err != nil {
			panic(fmt.Sprintf("products/%s: %v", e.Name(), err))
		}
		all[strings.TrimSuffix(e.Name(), ".json")] = p
	}
	return all
}

// Products are the known product names, sorted.
func Products() []string { return slices.Sorted(maps.Keys(products)) }

// LookupProduct finds a product by name. The error lists the known ones.
func LookupProduct(name string) (Product, error) {
	p, ok := products[name]
	if !ok {
		return Product{}, fmt.Errorf("product %q is not known: choose one of %s", name, strings.Join(Products(), ", "))
	}
	p.Profiles = slices.Clone(p.Profiles)
	return p, nil
}
