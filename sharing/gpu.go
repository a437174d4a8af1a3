// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// GPU is one physical GPU as the node sees it. Its Address is its identity: the
// minor, the index and, after a board was replaced, the UUID can all change
// below a name that claims were allocated under.
type GPU struct {
	// Name is the device name it is published under, for example "gpu-0".
	Name string
	// Address is the PCI address: lower case, four-digit domain, "0000:65:00.0".
	Address string
	// UUID is NVML's, "GPU-…".
	UUID string
	// Minor is the number of the device node /dev/nvidia<minor>.
	Minor int

	Product      string
	Brand        string
	Architecture string
	// Versions in semantic form: "8.0.0", "535.129.3", "12.2.0".
	ComputeCapability string
	DriverVersion     string
	CUDAVersion       string

	// MemoryBytes is NVML's total. Zero means that the GPU has no memory of its
	// own to tell, because it shares the host's.
	MemoryBytes int64

	// PCIeRoot is the root complex, "pci0000:64"; empty when sysfs has none.
	PCIeRoot string
	// NUMANode is nil when the platform tells none.
	NUMANode *int
	// AddressingMode is "HMM", "ATS" or "None"; empty when NVML has no such call.
	AddressingMode string

	// MemoryLimits: the driver can limit the memory of a container on it.
	MemoryLimits bool

	// MIG is nil when the GPU cannot be partitioned.
	MIG *MIG
}

// MIG is how a GPU can be partitioned. It does not change while the driver is
// loaded.
type MIG struct {
	// Switchable: the mode changes without a reset of the GPU, so that claims
	// decide whether it is whole or partitioned. Hopper and later.
	Switchable bool
	Geometry   mig.Geometry
}

// MIGMode is the MIG mode of a GPU. The two differ while a change waits for a
// reset.
type MIGMode struct {
	On      bool
	Pending bool
}

// Instance is a GPU instance that is there, with the compute instance in it.
type Instance struct {
	GI int
	mig.Partition
	// CI and UUID are those of the one compute instance that has all of the GPU
	// instance. UUID is "" when there is no such one.
	CI   int
	UUID string
	// Processes is how many run on it.
	Processes int
	// Foreign: somebody else made it. It is never destroyed.
	Foreign bool
	// Stray: processes run on it that no claim accounts for.
	Stray bool
}

// Present is a GPU that answered a look: its facts and what it is now.
type Present struct {
	GPU
	MIGMode
	Instances []Instance
}

// Condition says whether claims may land on a GPU.
type Condition string

const (
	// Ready: present and answering.
	Ready Condition = "Ready"
	// Lost: known, but it does not answer or is no longer there.
	Lost Condition = "Lost"
	// Held: its records were lost; nobody knows yet who uses it.
	Held Condition = "Held"
	// Fenced: a claim on it was released while it could not be reached.
	Fenced Condition = "Fenced"
	// Stuck: its MIG mode could not be switched off after the last partition. The
	// whole GPU is not handed out, partitions are. It is a condition of a fence,
	// never of a device.
	Stuck Condition = "Stuck"
)

// Device is a GPU together with what keeps claims from it.
type Device struct {
	GPU
	Condition Condition
	// Why is one clause for people: "NVML says GPU_IS_LOST".
	Why string
	// Stuck is why the whole GPU is not handed out though partitions are, or "".
	Stuck string
	MIGMode
	Instances []Instance
}

// foreign are the instances that somebody else made.
func (d Device) foreign() []Instance {
	var out []Instance
	for _, i := range d.Instances {
		if i.Foreign {
			out = append(out, i)
		}
	}
	return out
}

// partitionable says why no partition can be made on the GPU now, or nil.
func (d Device) partitionable() error {
	switch {
	case d.MIG == nil:
		return api.Errorf(api.Invalid, "%s (%s) cannot be partitioned", d.Name, d.Product)
	case !d.On && !d.MIG.Switchable:
		return api.Errorf(api.NeedsReset, "MIG mode of %s is off and changing it needs a reset of the GPU: nvidia-smi -i %s -mig 1, then reset it or reboot the node", d.Name, d.UUID)
	}
	return nil
}

// Refusal returns why a new claim may not have the device, or nil.
func (d Device) Refusal() error {
	switch d.Condition {
	case Ready:
		return nil
	case Lost:
		return api.Errorf(api.Lost, "%s (%s) is lost: %s; reset the GPU or reboot the node", d.Name, d.Address, d.Why)
	case Held, Fenced:
		return api.Errorf(api.Fenced, "%s (%s) is set apart: %s; it comes back by itself once it is known to be free", d.Name, d.Address, d.Why)
	}
	return api.Errorf(api.Internal, "%s (%s) has unknown condition %q", d.Name, d.Address, d.Condition)
}
