// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"slices"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/mig"
)

// Step is one reversible change to the node. Every step that can ever happen is
// in this file; a step is written to the journal before it runs, and it is
// undone from there.
//
// A step may run twice, and may be undone twice or without having run. What it
// learns (Facts) is in the journal before the next one runs.
type Step interface {
	step()
	// GPUs are the PCI addresses it touches.
	GPUs() []string
}

// SwitchMIG makes the MIG mode of a GPU what On says. Undone, a mode that was
// switched on goes off again, unless there are still instances.
type SwitchMIG struct {
	Address string
	On      bool
}

// FindVacant makes sure that no instance lies where one is to be made, and learns
// that. It is what entitles the undo to destroy what it finds in the place: an
// instance that was there before is somebody's. It changes nothing.
type FindVacant struct {
	Place
}

// CreateGPUInstance makes a GPU instance; undone, it is destroyed with what is
// in it. It learns the instance's id.
type CreateGPUInstance struct {
	Place
}

// CreateComputeInstance makes the compute instance that has all of the GPU
// instance of the same slot. It learns the id and the UUID. Undoing it is part
// of undoing the GPU instance, whose id may be known when this one's is not.
type CreateComputeInstance struct {
	Place
}

// FindInstance learns what is known of an instance that is there. It changes
// nothing, and there is nothing to undo.
type FindInstance struct {
	Place
	// Optional: the partition need not be there. Admin access sees what is.
	Optional bool
}

// NoteComputeMode learns what the compute mode of a GPU is before somebody changes
// it. It changes nothing.
type NoteComputeMode struct {
	Setting
}

// SetComputeMode makes the compute mode of a GPU what Mode says; undone, it is what
// it was.
type SetComputeMode struct {
	Setting
	Mode ComputeMode
}

// NoteInterval learns what the time-slice interval of a GPU is, likewise.
type NoteInterval struct {
	Setting
	UUID string
}

// SetInterval makes the time-slice interval of a GPU what Interval says; undone, it
// is what it was.
type SetInterval struct {
	Setting
	UUID     string
	Interval nvidia.Interval
}

// StartMPS has an MPS control daemon serve the devices within the limits; undone,
// there is none.
type StartMPS struct {
	// Slot is as in Setting.
	Slot string
	// Daemon is the daemon's ID.
	Daemon  string
	Devices []Served
	Limits  nvidia.MPS
}

// Setting is where a setting is changed that belongs to the whole GPU.
type Setting struct {
	// Slot is the shared slot whose setting it is: it is undone with the last claim
	// that has a share of it. "" is the claim's own, which has the GPU alone.
	Slot    string
	Address string
}

// Place is where on a node a partition is.
type Place struct {
	Slot    string
	Address string
	mig.Partition
}

// WriteSpec puts the CDI spec of a claim where the container runtime finds it;
// undone, the file is gone.
type WriteSpec struct {
	Claim   string
	Devices []SpecDevice
}

// SpecDevice is one CDI device: a name and the hardware behind it.
type SpecDevice struct {
	// Name is right of "=" in the device's id; unique in the claim.
	Name string
	// Address and UUID both name the GPU. If they no longer agree the board was
	// replaced, and what was granted is gone.
	Address string
	UUID    string
	// Slot is the partition whose facts the device needs, or the shared slot that it
	// is; "" for a whole GPU.
	Slot string
	// Made is where the partition is that is made for the claim; nil for others. The
	// file tells it, so that it is known without the journal.
	Made *mig.Partition
	// Shared is what the claim has a share of, and MemoryMiB the memory of the whole;
	// nil for a device that the claim has alone. Its containers are told.
	Shared    *Shared
	MemoryMiB int64
	// Daemon is the ID of the MPS control daemon that its containers are clients of,
	// or "".
	Daemon string
}

func (SwitchMIG) step()             {}
func (FindVacant) step()            {}
func (CreateGPUInstance) step()     {}
func (CreateComputeInstance) step() {}
func (FindInstance) step()          {}
func (NoteComputeMode) step()       {}
func (SetComputeMode) step()        {}
func (NoteInterval) step()          {}
func (SetInterval) step()           {}
func (StartMPS) step()              {}
func (WriteSpec) step()             {}

// GPUs returns the one address.
func (s SwitchMIG) GPUs() []string { return []string{s.Address} }

// GPUs returns the one address.
func (p Place) GPUs() []string { return []string{p.Address} }

// GPUs returns the one address.
func (s Setting) GPUs() []string { return []string{s.Address} }

// GPUs returns the addresses of the spec's devices, each once.
func (s WriteSpec) GPUs() []string {
	var out []string
	for _, d := range s.Devices {
		if !slices.Contains(out, d.Address) {
			out = append(out, d.Address)
		}
	}
	return out
}
