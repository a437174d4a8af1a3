// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// storedGPU is the value below names/<pci address>.
type storedGPU struct {
	Name              string     `json:"name"`
	Address           string     `json:"address"`
	UUID              string     `json:"uuid"`
	Minor             int        `json:"minor"`
	Product           string     `json:"product"`
	Brand             string     `json:"brand"`
	Architecture      string     `json:"architecture"`
	ComputeCapability string     `json:"computeCapability"`
	DriverVersion     string     `json:"driverVersion"`
	CUDAVersion       string     `json:"cudaVersion"`
	MemoryBytes       int64      `json:"memoryBytes,omitempty"`
	PCIeRoot          string     `json:"pcieRoot,omitempty"`
	NUMANode          *int       `json:"numaNode,omitempty"`
	AddressingMode    string     `json:"addressingMode,omitempty"`
	MemoryLimits      bool       `json:"memoryLimits,omitempty"`
	MIG               *storedMIG `json:"mig,omitempty"`
	Boot              string     `json:"boot"`
}

type storedMIG struct {
	Switchable bool            `json:"switchable,omitempty"`
	Profiles   []storedProfile `json:"profiles"`
}

// storedProfile is a MIG profile. Placements are pairs of start and size.
type storedProfile struct {
	Index           int      `json:"index"`
	ID              int      `json:"id"`
	Name            string   `json:"name"`
	Slices          int      `json:"slices"`
	Max             int      `json:"max"`
	MemoryMiB       int64    `json:"memoryMiB"`
	Multiprocessors int      `json:"multiprocessors,omitempty"`
	CopyEngines     int      `json:"copyEngines,omitempty"`
	Decoders        int      `json:"decoders,omitempty"`
	Encoders        int      `json:"encoders,omitempty"`
	JPEGEngines     int      `json:"jpegEngines,omitempty"`
	OFAEngines      int      `json:"ofaEngines,omitempty"`
	Placements      [][2]int `json:"placements,omitempty"`
}

// storedSlot is one of the values below slots/<pci address>. Start, Size and
// UUID are those of a partition.
type storedSlot struct {
	Name     string         `json:"name"`
	Profile  *storedProfile `json:"profile,omitempty"`
	Start    int            `json:"start,omitempty"`
	Size     int            `json:"size,omitempty"`
	UUID     string         `json:"uuid,omitempty"`
	Shared   *storedShared  `json:"shared,omitempty"`
	Retiring int64          `json:"retiring,omitempty"`
	Asked    int64          `json:"asked,omitempty"`
}

func encodeGPU(k sharing.Known) storedGPU {
	g := storedGPU{
		Name: k.Name, Address: k.Address, UUID: k.UUID, Minor: k.Minor, Product: k.Product, Brand: k.Brand,
		Architecture: k.Architecture, ComputeCapability: k.ComputeCapability, DriverVersion: k.DriverVersion,
		CUDAVersion: k.CUDAVersion, MemoryBytes: k.MemoryBytes, PCIeRoot: k.PCIeRoot, NUMANode: k.NUMANode,
		AddressingMode: k.AddressingMode, MemoryLimits: k.MemoryLimits, Boot: k.Boot,
	}
	if k.MIG != nil {
		g.MIG = &storedMIG{Switchable: k.MIG.Switchable}
		for _, p := range k.MIG.Geometry {
			g.MIG.Profiles = append(g.MIG.Profiles, encodeProfile(p))
		}
	}
	return g
}

func decodeGPU(address, raw []byte) (sharing.Known, error) {
	var g storedGPU
	if err := json.Unmarshal(raw, &g); err != nil {
		return sharing.Known{}, fmt.Errorf("name of GPU %s: %w", address, err)
	}
	k := sharing.Known{Boot: g.Boot, GPU: sharing.GPU{
		Name: g.Name, Address: g.Address, UUID: g.UUID, Minor: g.Minor, Product: g.Product, Brand: g.Brand,
		Architecture: g.Architecture, ComputeCapability: g.ComputeCapability, DriverVersion: g.DriverVersion,
		CUDAVersion: g.CUDAVersion, MemoryBytes: g.MemoryBytes, PCIeRoot: g.PCIeRoot, NUMANode: g.NUMANode,
		AddressingMode: g.AddressingMode, MemoryLimits: g.MemoryLimits,
	}}
	if g.MIG != nil {
		k.MIG = &sharing.MIG{Switchable: g.MIG.Switchable}
		for _, p := range g.MIG.Profiles {
			k.MIG.Geometry = append(k.MIG.Geometry, p.decode())
		}
	}
	return k, nil
}

func encodeProfile(p mig.Profile) storedProfile {
	s := storedProfile{
		Index: p.Index, ID: p.ID, Name: p.Name, Slices: p.Slices, Max: p.Max, MemoryMiB: p.MemoryMiB,
		Multiprocessors: p.Multiprocessors, CopyEngines: p.CopyEngines, Decoders: p.Decoders,
		Encoders: p.Encoders, JPEGEngines: p.JPEGEngines, OFAEngines: p.OFAEngines,
	}
	for _, at := range p.Placements {
		s.Placements = append(s.Placements, [2]int{at.Start, at.Size})
	}
	return s
}

func (s storedProfile) decode() mig.Profile {
	p := mig.Profile{
		Index: s.Index, ID: s.ID, Name: s.Name, Slices: s.Slices, Max: s.Max, MemoryMiB: s.MemoryMiB,
		Engines: mig.Engines{
			Multiprocessors: s.Multiprocessors, CopyEngines: s.CopyEngines, Decoders: s.Decoders,
			Encoders: s.Encoders, JPEGEngines: s.JPEGEngines, OFAEngines: s.OFAEngines,
		},
	}
	for _, at := range s.Placements {
		p.Placements = append(p.Placements, mig.Placement{Start: at[0], Size: at[1]})
	}
	return p
}

func encodeSlot(l sharing.Listed) storedSlot {
	s := storedSlot{Name: l.Name, Retiring: l.Retiring, Asked: l.Asked, Shared: encodeShared(l.Shared)}
	if l.Part != nil {
		s.Profile = new(encodeProfile(l.Part.Profile))
		s.Start, s.Size, s.UUID = l.Part.Start, l.Part.Size, l.Part.UUID
	}
	return s
}

func (s storedSlot) decode() sharing.Listed {
	l := sharing.Listed{Slot: sharing.Slot{Name: s.Name, Shared: s.Shared.decode()}, Retiring: s.Retiring, Asked: s.Asked}
	if s.Profile != nil {
		l.Part = &sharing.Part{Profile: s.Profile.decode(), Placement: mig.Placement{Start: s.Start, Size: s.Size}, UUID: s.UUID}
	}
	return l
}
