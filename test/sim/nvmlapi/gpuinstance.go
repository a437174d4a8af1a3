// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// gpuInstance is a handle to one GPU instance, stale after its destruction.
type gpuInstance struct{ baseGpuInstance }

func (i *gpuInstance) GetInfo() (nvml.GpuInstanceInfo, nvml.Return) {
	return ask(i.refuser, "nvmlGpuInstanceGetInfo", func(see sight) (nvml.GpuInstanceInfo, nvml.Return) {
		return nvml.GpuInstanceInfo{
			Device: i.lib.device(see.gpu.UUID), Id: uint32(see.gi.ID), ProfileId: uint32(see.gi.ProfileID),
			Placement: nvml.GpuInstancePlacement{Start: uint32(see.gi.Start), Size: uint32(see.gi.Size)},
		}, nvml.SUCCESS
	})
}

// Destroy fails with IN_USE while a compute instance or a process is there.
func (i *gpuInstance) Destroy() nvml.Return {
	_, ret := tell(i.refuser, "nvmlGpuInstanceDestroy", func(see sight) (int, nvml.Return) {
		return 0, nvml.Return(see.DestroyGI(see.gpu, see.gi))
	})
	return ret
}

// GetComputeInstanceProfileInfo takes the index of a profile, which is also its
// id. NOT_SUPPORTED means: no such profile in this GPU instance, go on.
func (i *gpuInstance) GetComputeInstanceProfileInfo(index, engines int) (nvml.ComputeInstanceProfileInfo, nvml.Return) {
	return ask(i.refuser, "nvmlGpuInstanceGetComputeInstanceProfileInfo", func(see sight) (none nvml.ComputeInstanceProfileInfo, _ nvml.Return) {
		if index < 0 || index >= sim.ComputeProfileCount || engines < 0 || engines >= nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT {
			return none, nvml.ERROR_INVALID_ARGUMENT
		}
		pr := see.profile()
		c, ok := see.product.ComputeProfile(pr, index)
		if !ok {
			return none, nvml.ERROR_NOT_SUPPORTED
		}
		return nvml.ComputeInstanceProfileInfo{
			Id: uint32(c.ID), SliceCount: uint32(c.Slices), InstanceCount: uint32(c.Max), MultiprocessorCount: uint32(c.SMs),
			SharedCopyEngineCount: uint32(pr.CopyEngines), SharedDecoderCount: uint32(pr.Decoders), SharedEncoderCount: uint32(pr.Encoders),
			SharedJpegCount: uint32(pr.JPEG), SharedOfaCount: uint32(pr.OFA),
		}, nvml.SUCCESS
	})
}

// compute finds the profile that info names by id.
func (see sight) compute(info *nvml.ComputeInstanceProfileInfo) (sim.ComputeProfile, bool) {
	if info == nil {
		return sim.ComputeProfile{}, false
	}
	return see.product.ComputeProfile(see.profile(), int(info.Id))
}

// onProfile answers a call on a compute instance profile that changes nothing
// and is root's (NVML header).
func onProfile[T any](i *gpuInstance, name string, info *nvml.ComputeInstanceProfileInfo, f func(sight, sim.ComputeProfile) (T, nvml.Return)) (T, nvml.Return) {
	return ask(i.refuser, name, func(see sight) (none T, _ nvml.Return) {
		if i.lib.uid != 0 {
			return none, nvml.ERROR_NO_PERMISSION
		}
		c, ok := see.compute(info)
		if !ok {
			return none, nvml.ERROR_INVALID_ARGUMENT
		}
		return f(see, c)
	})
}

func (i *gpuInstance) GetComputeInstancePossiblePlacements(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstancePlacement, nvml.Return) {
	return onProfile(i, "nvmlGpuInstanceGetComputeInstancePossiblePlacements", info, func(_ sight, c sim.ComputeProfile) (out []nvml.ComputeInstancePlacement, _ nvml.Return) {
		for _, start := range c.Starts() {
			out = append(out, nvml.ComputeInstancePlacement{Start: uint32(start), Size: uint32(c.Slices)})
		}
		return out, nvml.SUCCESS
	})
}

func (i *gpuInstance) GetComputeInstanceRemainingCapacity(info *nvml.ComputeInstanceProfileInfo) (int, nvml.Return) {
	return onProfile(i, "nvmlGpuInstanceGetComputeInstanceRemainingCapacity", info, func(see sight, c sim.ComputeProfile) (int, nvml.Return) {
		return see.gi.RemainingCIs(c), nvml.SUCCESS
	})
}

func (i *gpuInstance) CreateComputeInstance(info *nvml.ComputeInstanceProfileInfo) (nvml.ComputeInstance, nvml.Return) {
	return i.create("nvmlGpuInstanceCreateComputeInstance", info, nil)
}

func (i *gpuInstance) CreateComputeInstanceWithPlacement(info *nvml.ComputeInstanceProfileInfo, at *nvml.ComputeInstancePlacement) (nvml.ComputeInstance, nvml.Return) {
	const name = "nvmlGpuInstanceCreateComputeInstanceWithPlacement"
	if at == nil {
		return nothing[nvml.ComputeInstance](i.refuser, name)
	}
	return i.create(name, info, at)
}

func (i *gpuInstance) create(name string, info *nvml.ComputeInstanceProfileInfo, at *nvml.ComputeInstancePlacement) (nvml.ComputeInstance, nvml.Return) {
	return tell(i.refuser, name, func(see sight) (nvml.ComputeInstance, nvml.Return) {
		c, ok := see.compute(info)
		if !ok {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		var start *int
		if at != nil {
			if int(at.Size) != c.Slices {
				return nil, nvml.ERROR_INSUFFICIENT_RESOURCES
			}
			start = new(int(at.Start))
		}
		ci, code := see.CreateCI(see.gpu, see.gi, c.ID, start)
		if code != sim.Success {
			return nil, nvml.Return(code)
		}
		return i.lib.computeInstance(see.gpu.UUID, ci.Seq), nvml.SUCCESS
	})
}

// GetComputeInstances are those of one profile. A profile info without
// InstanceCount has room for none, as in go-nvml.
func (i *gpuInstance) GetComputeInstances(info *nvml.ComputeInstanceProfileInfo) ([]nvml.ComputeInstance, nvml.Return) {
	return ask(i.refuser, "nvmlGpuInstanceGetComputeInstances", func(see sight) ([]nvml.ComputeInstance, nvml.Return) {
		c, ok := see.compute(info)
		if !ok || info.InstanceCount == 0 {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		out := []nvml.ComputeInstance{}
		for _, ci := range see.gi.CIs {
			if ci.ProfileID == c.ID {
				out = append(out, i.lib.computeInstance(see.gpu.UUID, ci.Seq))
			}
		}
		return out, nvml.SUCCESS
	})
}

func (i *gpuInstance) GetComputeInstanceById(id int) (nvml.ComputeInstance, nvml.Return) {
	return ask(i.refuser, "nvmlGpuInstanceGetComputeInstanceById", func(see sight) (nvml.ComputeInstance, nvml.Return) {
		ci := see.gi.CI(id)
		if ci == nil {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return i.lib.computeInstance(see.gpu.UUID, ci.Seq), nvml.SUCCESS
	})
}
