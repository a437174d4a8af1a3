// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// storedStep is a union: exactly one member is set.
type storedStep struct {
	WriteSpec             *storedSpec   `json:"writeSpec,omitempty"`
	SwitchMIG             *storedSwitch `json:"switchMIG,omitempty"`
	FindVacant            *storedPlace  `json:"findVacant,omitempty"`
	CreateGPUInstance     *storedPlace  `json:"createGPUInstance,omitempty"`
	CreateComputeInstance *storedPlace  `json:"createComputeInstance,omitempty"`
	FindInstance          *storedFind   `json:"findInstance,omitempty"`
	NoteComputeMode       *storedMode   `json:"noteComputeMode,omitempty"`
	SetComputeMode        *storedMode   `json:"setComputeMode,omitempty"`
	NoteInterval          *storedTurns  `json:"noteInterval,omitempty"`
	SetInterval           *storedTurns  `json:"setInterval,omitempty"`
	StartMPS              *storedMPS    `json:"startMPS,omitempty"`
}

type storedSpec struct {
	Devices []storedSpecDevice `json:"devices"`
}

type storedSpecDevice struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	UUID    string `json:"uuid"`
	Slot    string `json:"slot,omitempty"`
	// Made is the partition that is made for the claim.
	Made *storedPartition `json:"made,omitempty"`
	// Shared is what the claim has a share of, MemoryMiB that of the whole.
	Shared    *storedShared `json:"shared,omitempty"`
	MemoryMiB int64         `json:"memoryMiB,omitempty"`
	Daemon    string        `json:"daemon,omitempty"`
}

type storedPartition struct {
	Profile int `json:"profile"`
	Start   int `json:"start"`
	Size    int `json:"size"`
}

type storedSwitch struct {
	Address string `json:"address"`
	On      bool   `json:"on"`
}

// storedPlace is a partition: Profile is the profile's id, Start and Size are in
// memory slices.
type storedPlace struct {
	Slot    string `json:"slot"`
	Address string `json:"address"`
	Profile int    `json:"profile"`
	Start   int    `json:"start"`
	Size    int    `json:"size"`
}

type storedFind struct {
	storedPlace
	Optional bool `json:"optional,omitempty"`
}

func encodeStep(s sharing.Step) (storedStep, error) {
	switch s := s.(type) {
	case sharing.WriteSpec:
		spec := &storedSpec{}
		for _, d := range s.Devices {
			stored := storedSpecDevice{
				Name: d.Name, Address: d.Address, UUID: d.UUID, Slot: d.Slot,
				Shared: encodeShared(d.Shared), MemoryMiB: d.MemoryMiB, Daemon: d.Daemon,
			}
			if d.Made != nil {
				stored.Made = &storedPartition{Profile: d.Made.Profile, Start: d.Made.Start, Size: d.Made.Size}
			}
			spec.Devices = append(spec.Devices, stored)
		}
		return storedStep{WriteSpec: spec}, nil
	case sharing.SwitchMIG:
		return storedStep{SwitchMIG: new(storedSwitch(s))}, nil
	case sharing.FindVacant:
		return storedStep{FindVacant: new(encodePlace(s.Place))}, nil
	case sharing.CreateGPUInstance:
		return storedStep{CreateGPUInstance: new(encodePlace(s.Place))}, nil
	case sharing.CreateComputeInstance:
		return storedStep{CreateComputeInstance: new(encodePlace(s.Place))}, nil
	case sharing.FindInstance:
		return storedStep{FindInstance: &storedFind{storedPlace: encodePlace(s.Place), Optional: s.Optional}}, nil
	case sharing.NoteComputeMode:
		return storedStep{NoteComputeMode: &storedMode{Slot: s.Slot, Address: s.Address}}, nil
	case sharing.SetComputeMode:
		return storedStep{SetComputeMode: &storedMode{Slot: s.Slot, Address: s.Address, Mode: string(s.Mode)}}, nil
	case sharing.NoteInterval:
		return storedStep{NoteInterval: &storedTurns{Slot: s.Slot, Address: s.Address, UUID: s.UUID}}, nil
	case sharing.SetInterval:
		return storedStep{SetInterval: &storedTurns{Slot: s.Slot, Address: s.Address, UUID: s.UUID, Interval: string(s.Interval)}}, nil
	case sharing.StartMPS:
		return storedStep{StartMPS: encodeMPS(s)}, nil
	}
	return storedStep{}, fmt.Errorf("the journal does not know step %T", s)
}

// decode returns the step of the claim, or false when no known member is set.
func (s storedStep) decode(claim string) (sharing.Step, bool) {
	switch {
	case s.WriteSpec != nil:
		spec := sharing.WriteSpec{Claim: claim}
		for _, d := range s.WriteSpec.Devices {
			device := sharing.SpecDevice{
				Name: d.Name, Address: d.Address, UUID: d.UUID, Slot: d.Slot,
				Shared: d.Shared.decode(), MemoryMiB: d.MemoryMiB, Daemon: d.Daemon,
			}
			if m := d.Made; m != nil {
				device.Made = &mig.Partition{Profile: m.Profile, Placement: mig.Placement{Start: m.Start, Size: m.Size}}
			}
			spec.Devices = append(spec.Devices, device)
		}
		return spec, true
	case s.SwitchMIG != nil:
		return sharing.SwitchMIG(*s.SwitchMIG), true
	case s.FindVacant != nil:
		return sharing.FindVacant{Place: s.FindVacant.decode()}, true
	case s.CreateGPUInstance != nil:
		return sharing.CreateGPUInstance{Place: s.CreateGPUInstance.decode()}, true
	case s.CreateComputeInstance != nil:
		return sharing.CreateComputeInstance{Place: s.CreateComputeInstance.decode()}, true
	case s.FindInstance != nil:
		return sharing.FindInstance{Place: s.FindInstance.decode(), Optional: s.FindInstance.Optional}, true
	case s.NoteComputeMode != nil:
		m := s.NoteComputeMode
		return sharing.NoteComputeMode{Setting: sharing.Setting{Slot: m.Slot, Address: m.Address}}, true
	case s.NoteInterval != nil:
		i := s.NoteInterval
		return sharing.NoteInterval{Setting: sharing.Setting{Slot: i.Slot, Address: i.Address}, UUID: i.UUID}, true
	case s.SetComputeMode != nil:
		m := s.SetComputeMode
		return sharing.SetComputeMode{Setting: sharing.Setting{Slot: m.Slot, Address: m.Address}, Mode: sharing.ComputeMode(m.Mode)}, true
	case s.SetInterval != nil:
		i := s.SetInterval
		return sharing.SetInterval{Setting: sharing.Setting{Slot: i.Slot, Address: i.Address}, UUID: i.UUID, Interval: nvidia.Interval(i.Interval)}, true
	case s.StartMPS != nil:
		return s.StartMPS.decode(), true
	}
	return nil, false
}

func encodePlace(p sharing.Place) storedPlace {
	return storedPlace{Slot: p.Slot, Address: p.Address, Profile: p.Profile, Start: p.Start, Size: p.Size}
}

func (p storedPlace) decode() sharing.Place {
	return sharing.Place{Slot: p.Slot, Address: p.Address, Partition: mig.Partition{
		Profile: p.Profile, Placement: mig.Placement{Start: p.Start, Size: p.Size}}}
}
