// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package readonly

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// Instance is a GPU instance.
type Instance struct{ gi nvml.GpuInstance }

// InstanceInfo is what a GPU or compute instance says of itself.
type InstanceInfo struct {
	ID, Profile int
	Start, Size int
}

// GetInfo describes the GPU instance; its placement is in memory slices.
func (i Instance) GetInfo() (InstanceInfo, nvml.Return) {
	info, ret := i.gi.GetInfo()
	return InstanceInfo{int(info.Id), int(info.ProfileId), int(info.Placement.Start), int(info.Placement.Size)}, ret
}

// GetComputeInstanceProfileInfo is that of an index, with engines shared.
func (i Instance) GetComputeInstanceProfileInfo(index int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
	return i.gi.GetComputeInstanceProfileInfo(index, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
}

// GetComputeInstances are the compute instances of one profile.
func (i Instance) GetComputeInstances(info *nvml.ComputeInstanceProfileInfo) ([]Compute, nvml.Return) {
	got, ret := i.gi.GetComputeInstances(info)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	var out []Compute
	for _, ci := range got {
		out = append(out, Compute{ci})
	}
	return out, ret
}

// Compute is a compute instance.
type Compute struct{ ci nvml.ComputeInstance }

// GetInfo describes the compute instance, whose placement is in compute slices,
// and gives the MIG device that it is.
func (c Compute) GetInfo() (InstanceInfo, Device, nvml.Return) {
	info, ret := c.ci.GetInfo()
	dev, ret := device(info.Device, ret)
	return InstanceInfo{int(info.Id), int(info.ProfileId), int(info.Placement.Start), int(info.Placement.Size)}, dev, ret
}
