// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// IsMigDeviceHandle is false on a GPU, with MIG on as well.
func (d *device) IsMigDeviceHandle() (bool, nvml.Return) {
	return get(d, "nvmlDeviceIsMigDeviceHandle", func(*sim.State, *sim.GPU, sim.Product) (bool, nvml.Return) {
		return false, nvml.SUCCESS
	})
}

// GetMaxMigDeviceCount is 0 both with MIG off and without MIG (NVML header).
func (d *device) GetMaxMigDeviceCount() (int, nvml.Return) {
	return get(d, "nvmlDeviceGetMaxMigDeviceCount", func(_ *sim.State, g *sim.GPU, p sim.Product) (int, nvml.Return) {
		if !g.MIG.Current {
			return 0, nvml.SUCCESS
		}
		return p.MaxMIGDevices(), nvml.SUCCESS
	})
}

// GetMigDeviceHandleByIndex finds compute instances: a GPU instance without any
// is not a MIG device. The index of one that was destroyed stays a gap.
func (d *device) GetMigDeviceHandleByIndex(index int) (nvml.Device, nvml.Return) {
	return get(d, "nvmlDeviceGetMigDeviceHandleByIndex", func(_ *sim.State, g *sim.GPU, p sim.Product) (nvml.Device, nvml.Return) {
		if !p.MIG {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		if index < 0 || index >= p.MaxMIGDevices() {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		_, ci := g.MIGDevice(index)
		if ci == nil {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return d.lib.migDevice(g.UUID, ci.Seq), nvml.SUCCESS
	})
}

// GetGpuInstanceProfileInfo takes the index of a profile, which is not its id.
// It works with MIG off. NOT_SUPPORTED means: no such profile on this part,
// go on; INVALID_ARGUMENT ends the walk.
func (d *device) GetGpuInstanceProfileInfo(index int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	return get(d, "nvmlDeviceGetGpuInstanceProfileInfo", func(_ *sim.State, _ *sim.GPU, p sim.Product) (nvml.GpuInstanceProfileInfo, nvml.Return) {
		if p.MIG && (index < 0 || index >= nvml.GPU_INSTANCE_PROFILE_COUNT) {
			return nvml.GpuInstanceProfileInfo{}, nvml.ERROR_INVALID_ARGUMENT
		}
		pr, ok := p.Profile(index)
		if !ok {
			return nvml.GpuInstanceProfileInfo{}, nvml.ERROR_NOT_SUPPORTED
		}
		return profileInfo(pr), nvml.SUCCESS
	})
}

func profileInfo(p sim.Profile) nvml.GpuInstanceProfileInfo {
	return nvml.GpuInstanceProfileInfo{
		Id: uint32(p.ID), SliceCount: uint32(p.ComputeSlices), InstanceCount: uint32(p.Max),
		MultiprocessorCount: uint32(p.SMs), CopyEngineCount: uint32(p.CopyEngines), DecoderCount: uint32(p.Decoders),
		EncoderCount: uint32(p.Encoders), JpegCount: uint32(p.JPEG), OfaCount: uint32(p.OFA), MemorySizeMB: p.MemoryMiB,
	}
}

// GetGpuInstancePossiblePlacements works with MIG off, for root.
func (d *device) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	return get(d, "nvmlDeviceGetGpuInstancePossiblePlacements_v2", func(_ *sim.State, _ *sim.GPU, p sim.Product) ([]nvml.GpuInstancePlacement, nvml.Return) {
		if !p.MIG {
			return nil, nvml.ERROR_NOT_SUPPORTED
		}
		if d.lib.uid != 0 {
			return nil, nvml.ERROR_NO_PERMISSION
		}
		pr, ok := named(p, info)
		if !ok {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		var out []nvml.GpuInstancePlacement
		for _, start := range pr.Starts {
			out = append(out, nvml.GpuInstancePlacement{Start: uint32(start), Size: uint32(pr.MemoryUnits)})
		}
		return out, nvml.SUCCESS
	})
}

// named is the profile whose id info has; of the rest of info no call takes note.
func named(p sim.Product, info *nvml.GpuInstanceProfileInfo) (sim.Profile, bool) {
	if info == nil {
		return sim.Profile{}, false
	}
	return p.ProfileByID(int(info.Id))
}
