// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// computeInstance is a handle to one compute instance, stale after its
// destruction.
type computeInstance struct{ baseComputeInstance }

// GetInfo gives the handle of the MIG device that the compute instance is.
func (c *computeInstance) GetInfo() (nvml.ComputeInstanceInfo, nvml.Return) {
	return ask(c.refuser, "nvmlComputeInstanceGetInfo_v2", func(see sight) (nvml.ComputeInstanceInfo, nvml.Return) {
		return nvml.ComputeInstanceInfo{
			Device: c.lib.migDevice(see.gpu.UUID, see.ci.Seq), GpuInstance: c.lib.gpuInstance(see.gpu.UUID, see.gi.Seq),
			Id: uint32(see.ci.ID), ProfileId: uint32(see.ci.ProfileID),
			Placement: nvml.ComputeInstancePlacement{Start: uint32(see.ci.Start), Size: uint32(see.ci.Size)},
		}, nvml.SUCCESS
	})
}

// Destroy fails with IN_USE while a process is there.
func (c *computeInstance) Destroy() nvml.Return {
	_, ret := tell(c.refuser, "nvmlComputeInstanceDestroy", func(see sight) (int, nvml.Return) {
		return 0, nvml.Return(see.DestroyCI(see.gpu, see.gi, see.ci))
	})
	return ret
}
