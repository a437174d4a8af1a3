// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
)

// place is what a context is on: a GPU, or with gi and ci a MIG device.
type place struct {
	gpu    *GPU
	gi, ci *int
}

// Device is a GPU or a MIG device as CUDA sees it.
type Device struct {
	UUID            string
	GPU             *GPU
	GI              *GPUInstance     // nil for a GPU
	CI              *ComputeInstance // nil for a GPU
	MemoryMiB       uint64
	Multiprocessors int
	ComputeMode     int
	// Share is what part of the GPU's compute slices it has, 1 for a GPU.
	Share float64
}

// Device finds a GPU or MIG device by UUID. A GPU with MIG on is none that CUDA
// runs on, nor is one that is lost.
func (s *State) Device(uuid string) (Device, error) {
	if g := s.GPU(uuid); g != nil {
		p := products[g.Product]
		switch {
		case g.Lost:
			return Device{}, fmt.Errorf("GPU %s is off the bus: %w", uuid, CUDANoDevice)
		case g.MIG.Current:
			return Device{}, fmt.Errorf("GPU %s has MIG on, name a MIG device: %w", uuid, CUDANoDevice)
		}
		return Device{UUID: uuid, GPU: g, MemoryMiB: p.MemoryMiB, Multiprocessors: p.SMs, ComputeMode: g.ComputeMode, Share: 1}, nil
	}
	g, gi, ci := s.MIGDevice(uuid)
	if ci == nil || g.Lost {
		return Device{}, fmt.Errorf("there is no device %s: %w", uuid, CUDANoDevice)
	}
	p := products[g.Product]
	pr, _ := p.ProfileByID(gi.ProfileID)
	c, _ := p.ComputeProfile(pr, ci.ProfileID)
	return Device{
		UUID: uuid, GPU: g, GI: gi, CI: ci, MemoryMiB: pr.MemoryMiB, Multiprocessors: c.SMs, ComputeMode: ci.ComputeMode,
		Share: float64(c.Slices) / float64(p.Whole().ComputeSlices),
	}, nil
}

// At is where a process is that is on d: its UUID, GI and CI are those of p.
func (d Device) At(p Process) Process {
	p.UUID = d.GPU.UUID
	if d.CI != nil {
		p.GI, p.CI = new(d.GI.ID), new(d.CI.ID)
	}
	return p
}

func (d Device) place() place {
	at := d.At(Process{})
	return place{d.GPU, at.GI, at.CI}
}

// On are the processes on the device that are of kind.
func (d Device) On(s *State, kind ProcessKind) []Process {
	at := d.place()
	return slices.DeleteFunc(s.On(d.GPU.UUID, kind), func(p Process) bool { return at.ci != nil && (!same(p.GI, at.gi) || !same(p.CI, at.ci)) })
}

// Open answers whether p may open a context on d: the compute mode decides
// (NVIDIA, nvmlComputeMode_t). p is not added.
func (s *State) Open(d Device, p Process) error {
	switch {
	case d.ComputeMode == ComputeProhibited:
		return fmt.Errorf("device %s prohibits compute: %w", d.UUID, CUDADeviceUnavailable)
	case d.ComputeMode == ComputeExclusiveProcess:
		others := slices.DeleteFunc(d.On(s, Compute), func(q Process) bool { return q.Client == p.Client && q.PID == p.PID })
		if len(others) > 0 {
			return fmt.Errorf("device %s belongs to process %d alone: %w", d.UUID, others[0].PID, CUDADeviceUnavailable)
		}
	}
	return nil
}

// Take answers whether p, which is on d and counted with what it has, may have
// miB more.
func (s *State) Take(d Device, p Process, miB uint64) error {
	if free := s.freeMiB(d.place()); miB > free {
		return fmt.Errorf("%d MiB of device %s, %d are free: %w", miB, d.UUID, free, CUDAOutOfMemory)
	}
	if d.CI == nil {
		return s.within(d.GPU, p, miB)
	}
	return nil
}

// freeMiB is the memory that nobody has.
func (s *State) freeMiB(at place) uint64 {
	p := products[at.gpu.Product]
	if at.gi == nil {
		return p.MemoryMiB - p.ReservedMiB - min(s.UsedMiB(at.gpu.UUID), p.MemoryMiB-p.ReservedMiB)
	}
	gi := at.gpu.GI(*at.gi)
	if gi == nil {
		return 0
	}
	pr, _ := p.ProfileByID(gi.ProfileID)
	return pr.MemoryMiB - min(s.UsedByMiB(at.gpu.UUID, gi.ID), pr.MemoryMiB)
}
