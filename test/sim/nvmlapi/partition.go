// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// SetMigMode has two results, in this order: whether the mode was activated, and
// whether the call as such was right. IN_USE and RESET_REQUIRED are of the first
// (NVML header); see sim.State.SwitchMIG for the rules.
func (d *device) SetMigMode(mode int) (activation, ret nvml.Return) {
	const name = "nvmlDeviceSetMigMode"
	var forced *sim.Code
	call := sim.Call{Name: name, UUID: d.at.uuid, Activated: func(c sim.Code) { forced = &c }}
	ret = nvml.Return(d.lib.m.Change(call, d.look(name, func(see sight) nvml.Return {
		switch {
		case d.lib.uid != 0:
			return nvml.ERROR_NO_PERMISSION
		case !see.product.MIG:
			return nvml.ERROR_NOT_SUPPORTED
		case mode != nvml.DEVICE_MIG_DISABLE && mode != nvml.DEVICE_MIG_ENABLE:
			return nvml.ERROR_INVALID_ARGUMENT
		}
		activation = nvml.Return(see.SwitchMIG(see.gpu, mode == nvml.DEVICE_MIG_ENABLE, forced))
		return nvml.SUCCESS
	})))
	return onSuccess(activation, ret)
}

// CreateGpuInstance leaves the placement to the driver, which may choose one
// that is in the way of what shall come next.
func (d *device) CreateGpuInstance(info *nvml.GpuInstanceProfileInfo) (nvml.GpuInstance, nvml.Return) {
	return d.create("nvmlDeviceCreateGpuInstance", info, nil)
}

func (d *device) CreateGpuInstanceWithPlacement(info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	const name = "nvmlDeviceCreateGpuInstanceWithPlacement"
	if at == nil {
		return nothing[nvml.GpuInstance](d.refuser, name)
	}
	return d.create(name, info, at)
}

// nothing answers a call whose argument says nothing.
func nothing[T any](r refuser, name string) (T, nvml.Return) {
	return tell(r, name, func(sight) (none T, _ nvml.Return) { return none, nvml.ERROR_INVALID_ARGUMENT })
}

func (d *device) create(name string, info *nvml.GpuInstanceProfileInfo, at *nvml.GpuInstancePlacement) (nvml.GpuInstance, nvml.Return) {
	return tell(d.refuser, name, func(see sight) (nvml.GpuInstance, nvml.Return) {
		if !see.gpu.MIG.Current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		pr, ok := named(see.product, info)
		if !ok {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		var start *int
		if at != nil {
			if int(at.Size) != pr.MemoryUnits {
				return nil, nvml.ERROR_INSUFFICIENT_RESOURCES
			}
			start = new(int(at.Start))
		}
		gi, code := see.CreateGI(see.gpu, pr.ID, start)
		if code != sim.Success {
			return nil, nvml.Return(code)
		}
		return d.lib.gpuInstance(see.gpu.UUID, gi.Seq), nvml.SUCCESS
	})
}

// GetGpuInstances is the one way to see a GPU instance without compute instance.
// A profile info without InstanceCount has room for none, as in go-nvml.
func (d *device) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstance, nvml.Return) {
	return get(d, "nvmlDeviceGetGpuInstances", func(_ *sim.State, g *sim.GPU, p sim.Product) ([]nvml.GpuInstance, nvml.Return) {
		if !g.MIG.Current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		pr, ok := named(p, info)
		if !ok || info.InstanceCount == 0 {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		out := []nvml.GpuInstance{}
		for _, gi := range g.GIs {
			if gi.ProfileID == pr.ID {
				out = append(out, d.lib.gpuInstance(g.UUID, gi.Seq))
			}
		}
		return out, nvml.SUCCESS
	})
}

func (d *device) GetGpuInstanceById(id int) (nvml.GpuInstance, nvml.Return) {
	return get(d, "nvmlDeviceGetGpuInstanceById", func(_ *sim.State, g *sim.GPU, _ sim.Product) (nvml.GpuInstance, nvml.Return) {
		if !g.MIG.Current {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		gi := g.GI(id)
		if gi == nil {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return d.lib.gpuInstance(g.UUID, gi.Seq), nvml.SUCCESS
	})
}

// GetGpuInstanceRemainingCapacity counts what can be made right now.
func (d *device) GetGpuInstanceRemainingCapacity(info *nvml.GpuInstanceProfileInfo) (int, nvml.Return) {
	return get(d, "nvmlDeviceGetGpuInstanceRemainingCapacity", func(_ *sim.State, g *sim.GPU, p sim.Product) (int, nvml.Return) {
		if d.lib.uid != 0 {
			return 0, nvml.ERROR_NO_PERMISSION
		}
		if !g.MIG.Current {
			return 0, nvml.ERROR_NOT_SUPPORTED
		}
		pr, ok := named(p, info)
		if !ok {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return p.Remaining(g.GIs, pr), nvml.SUCCESS
	})
}
