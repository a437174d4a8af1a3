// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// The stored forms. They are private and change only with the layout.

type storedClaim struct {
	State     string         `json:"state"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Steps     []storedStep   `json:"steps,omitempty"`
	Holds     []storedHold   `json:"holds,omitempty"`
	Grant     []storedDevice `json:"grant,omitempty"`
}

type storedHold struct {
	Slot  string `json:"slot"`
	Share string `json:"share,omitempty"`
	Admin bool   `json:"admin,omitempty"`
}

type storedDevice struct {
	Request string   `json:"request"`
	Pool    string   `json:"pool"`
	Device  string   `json:"device"`
	Share   string   `json:"share,omitempty"`
	CDI     []string `json:"cdi"`
}

// storedStep is a union: exactly one member is set.
type storedStep struct {
	WriteSpec *storedSpec `json:"writeSpec,omitempty"`
}

type storedSpec struct {
	Devices []storedSpecDevice `json:"devices"`
}

type storedSpecDevice struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	UUID    string `json:"uuid"`
}

// storedHolder is the value below holds/<slot>/<uid>/<share>.
type storedHolder struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Admin     bool   `json:"admin,omitempty"`
}

// storedGPU is the value below names/<pci address>.
type storedGPU struct {
	storedFacts
	Boot string `json:"boot"`
}

type storedFacts struct {
	Name              string `json:"name"`
	Address           string `json:"address"`
	UUID              string `json:"uuid"`
	Minor             int    `json:"minor"`
	Product           string `json:"product"`
	Brand             string `json:"brand"`
	Architecture      string `json:"architecture"`
	ComputeCapability string `json:"computeCapability"`
	DriverVersion     string `json:"driverVersion"`
	CUDAVersion       string `json:"cudaVersion"`
	MemoryBytes       int64  `json:"memoryBytes,omitempty"`
	PCIeRoot          string `json:"pcieRoot,omitempty"`
	NUMANode          *int   `json:"numaNode,omitempty"`
	AddressingMode    string `json:"addressingMode,omitempty"`
}

type storedFence struct {
	Condition string `json:"condition"`
	Why       string `json:"why"`
}

func encodeClaim(r sharing.Record) ([]byte, error) {
	c := storedClaim{State: string(r.State), Namespace: r.Namespace, Name: r.Name}
	for _, h := range r.Holds {
		c.Holds = append(c.Holds, storedHold{Slot: h.Slot, Share: h.Share, Admin: h.Admin})
	}
	if r.Grant != nil {
		for _, d := range r.Grant.Devices {
			c.Grant = append(c.Grant, storedDevice(d))
		}
	}
	for _, s := range r.Steps {
		step, err := encodeStep(s)
		if err != nil {
			return nil, err
		}
		c.Steps = append(c.Steps, step)
	}
	return json.Marshal(c)
}

func encodeStep(s sharing.Step) (storedStep, error) {
	switch s := s.(type) {
	case sharing.WriteSpec:
		spec := &storedSpec{}
		for _, d := range s.Devices {
			spec.Devices = append(spec.Devices, storedSpecDevice(d))
		}
		return storedStep{WriteSpec: spec}, nil
	}
	return storedStep{}, fmt.Errorf("the journal does not know step %T", s)
}

func decodeClaim(uid string, raw []byte) (sharing.Record, error) {
	var c storedClaim
	if err := json.Unmarshal(raw, &c); err != nil {
		return sharing.Record{}, fmt.Errorf("record of claim %s: %w", uid, err)
	}
	r := sharing.Record{UID: uid, Namespace: c.Namespace, Name: c.Name, State: sharing.State(c.State)}
	switch r.State {
	case sharing.Preparing, sharing.Prepared, sharing.Releasing:
	default:
		return sharing.Record{}, fmt.Errorf("record of claim %s: unknown state %q", uid, c.State)
	}
	for _, h := range c.Holds {
		r.Holds = append(r.Holds, sharing.Hold{Slot: h.Slot, Claim: uid, Share: h.Share, Namespace: c.Namespace, Name: c.Name, Admin: h.Admin})
	}
	r.Grant = &sharing.Grant{Devices: []sharing.Granted{}}
	for _, d := range c.Grant {
		r.Grant.Devices = append(r.Grant.Devices, sharing.Granted(d))
	}
	for i, s := range c.Steps {
		if s.WriteSpec == nil {
			return sharing.Record{}, fmt.Errorf("record of claim %s: step %d is of a kind this release does not know", uid, i)
		}
		spec := sharing.WriteSpec{Claim: uid}
		for _, d := range s.WriteSpec.Devices {
			spec.Devices = append(spec.Devices, sharing.SpecDevice(d))
		}
		r.Steps = append(r.Steps, spec)
	}
	return r, nil
}
