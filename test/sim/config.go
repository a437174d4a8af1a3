// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Config says what machine Create lays. The zero Driver and CUDA are those of
// the walkthrough; a machine without GPUs is a machine.
type Config struct {
	Driver string      `json:"driver"` // driver version, "535.129.03"
	CUDA   string      `json:"cuda"`   // highest CUDA version of that driver, "12.2"
	Seed   int64       `json:"seed"`   // tells the UUIDs and boot ids of one machine from another's
	GPUs   []GPUConfig `json:"gpus"`
	// Bin is a directory with the stand-in programs (nvidia-smi, the two of MPS,
	// simcuda) and libnvidia-ml.so.1; those there become files of the driver root. Without it the
	// root has placeholders, enough for a CDI spec and not for a container.
	Bin string `json:"bin,omitempty"`

	IDs            string        `json:"ids,omitempty"`            // see Options
	UUIDs          string        `json:"uuids,omitempty"`          // see Options
	ResetForbidden bool          `json:"resetForbidden,omitempty"` // see Options
	Linger         time.Duration `json:"linger,omitempty"`         // see Options

	VolatileTimeSlice bool `json:"volatileTimeSlice,omitempty"` // see Options
	MPSIgnoresUUIDs   bool `json:"mpsIgnoresUUIDs,omitempty"`   // see Options
}

// GPUConfig describes one GPU. All but Product may be left out; what is left
// out follows from the order in which GPUs were added and is the same each time.
type GPUConfig struct {
	Product  string `json:"product"`            // a name of Products, "A30-24"
	UUID     string `json:"uuid,omitempty"`     // "GPU-…"; default: a name-based one of (seed, ordinal)
	PCI      string `json:"pci,omitempty"`      // address with a 4-digit domain; default 0000:65:01.0, 0000:75:01.0, …
	Minor    *int   `json:"minor,omitempty"`    // /dev/nvidia<minor>; default: the lowest free one
	NUMA     *int   `json:"numa,omitempty"`     // node, -1 for none; default: four GPUs to a node
	PCIeRoot string `json:"pcieRoot,omitempty"` // "pci0000:64"; default: the bus below the GPU's
	ModuleID int    `json:"moduleID,omitempty"` // default: ordinal + 1 on SXM boards, else 0
	MIG      bool   `json:"mig,omitempty"`      // MIG mode is on at first; without instances
}

const (
	defaultDriver = "535.129.03"
	defaultCUDA   = "12.2"
	// maxGPUs bounds the ordinals, so that every default address is a valid one.
	maxGPUs = 64
)

var (
	driverForm = regexp.MustCompile(`^\d{3}\.\d+(\.\d+)?$`)
	cudaForm   = regexp.MustCompile(`^\d+\.\d$`)
	uuidForm   = regexp.MustCompile(`^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	pciForm    = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]$`)
	rootForm   = regexp.MustCompile(`^pci[0-9a-f]{4}:[0-9a-f]{2}$`)
)

func (c Config) withDefaults() (Config, error) {
	if c.Driver == "" {
		c.Driver = defaultDriver
	}
	if c.CUDA == "" {
		c.CUDA = defaultCUDA
	}
	if !driverForm.MatchString(c.Driver) {
		return c, fmt.Errorf("driver version %q: want one such as %s", c.Driver, defaultDriver)
	}
	if !cudaForm.MatchString(c.CUDA) {
		return c, fmt.Errorf("CUDA version %q: want one such as %s", c.CUDA, defaultCUDA)
	}
	return c, c.options().check()
}

// newGPU makes the next GPU of s from c. It does not add it.
func newGPU(s *State, c GPUConfig) (GPU, error) {
	p, err := LookupProduct(c.Product)
	if err != nil {
		return GPU{}, err
	}
	n := s.NextOrdinal
	if n >= maxGPUs {
		return GPU{}, fmt.Errorf("this machine has had %d GPUs; no default address is left: create a new machine", n)
	}
	g := GPU{
		Ordinal: n, Product: c.Product, Minor: s.freeMinor(), NUMA: n / 4 % 2,
		UUID:     orDefault(c.UUID, gpuUUID(s.Seed, n)),
		PCI:      orDefault(strings.ToLower(c.PCI), defaultPCI(n)),
		PCIeRoot: c.PCIeRoot, ModuleID: c.ModuleID,
	}
	g.MIG = MIGMode{c.MIG, c.MIG}
	if c.Minor != nil {
		g.Minor = *c.Minor
	}
	if c.NUMA != nil {
		g.NUMA = *c.NUMA
	}
	if !pciForm.MatchString(g.PCI) {
		return GPU{}, fmt.Errorf("PCI address %q: want one such as 0000:65:01.0", g.PCI)
	}
	if g.PCIeRoot == "" {
		g.PCIeRoot = defaultPCIeRoot(g.PCI)
	}
	if g.ModuleID == 0 && p.SXM {
		g.ModuleID = n + 1
	}
	return g, nil
}

func orDefault(v, def string) string {
	if v == "" {
		return def
	}
	return v
}
