// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func (d *device) GetMigMode() (int, int, nvml.Return) {
	mode, ret := get(d, "nvmlDeviceGetMigMode", func(_ *sim.State, g *sim.GPU, p sim.Product) (sim.MIGMode, nvml.Return) {
		if !p.MIG {
			return sim.MIGMode{}, nvml.ERROR_NOT_SUPPORTED
		}
		return g.MIG, nvml.SUCCESS
	})
	return int(enableState(mode.Current)), int(enableState(mode.Pending)), ret
}

func (d *device) GetComputeMode() (nvml.ComputeMode, nvml.Return) {
	return get(d, "nvmlDeviceGetComputeMode", func(_ *sim.State, g *sim.GPU, _ sim.Product) (nvml.ComputeMode, nvml.Return) {
		return nvml.ComputeMode(g.ComputeMode), nvml.SUCCESS
	})
}

func (d *device) SetComputeMode(mode nvml.ComputeMode) nvml.Return {
	return d.set("nvmlDeviceSetComputeMode", func(g *sim.GPU) nvml.Return { return nvml.Return(g.SetComputeMode(int(mode))) })
}

func isComputeMode(mode nvml.ComputeMode) bool {
	return mode == sim.ComputeDefault || mode == sim.ComputeProhibited || mode == sim.ComputeExclusiveProcess
}

func (d *device) GetPersistenceMode() (nvml.EnableState, nvml.Return) {
	return get(d, "nvmlDeviceGetPersistenceMode", func(_ *sim.State, g *sim.GPU, _ sim.Product) (nvml.EnableState, nvml.Return) {
		return enableState(g.Persistence), nvml.SUCCESS
	})
}

func (d *device) SetPersistenceMode(mode nvml.EnableState) nvml.Return {
	return d.set("nvmlDeviceSetPersistenceMode", func(g *sim.GPU) nvml.Return {
		if mode != nvml.FEATURE_DISABLED && mode != nvml.FEATURE_ENABLED {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		g.Persistence = mode == nvml.FEATURE_ENABLED
		return nvml.SUCCESS
	})
}

// set answers a call that changes a GPU, which root alone may do.
func (d *device) set(name string, f func(*sim.GPU) nvml.Return) nvml.Return {
	_, ret := tell(d.refuser, name, func(see sight) (int, nvml.Return) { return 0, f(see.gpu) })
	return ret
}

// GetVirtualizationMode is that of a bare-metal machine.
func (d *device) GetVirtualizationMode() (nvml.GpuVirtualizationMode, nvml.Return) {
	return get(d, "nvmlDeviceGetVirtualizationMode", func(*sim.State, *sim.GPU, sim.Product) (nvml.GpuVirtualizationMode, nvml.Return) {
		return nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS
	})
}

func (d *device) GetAddressingMode() (nvml.DeviceAddressingMode, nvml.Return) {
	return get(d, "nvmlDeviceGetAddressingMode", func(_ *sim.State, _ *sim.GPU, p sim.Product) (m nvml.DeviceAddressingMode, ret nvml.Return) {
		m.Version = nvml.STRUCT_VERSION(m, 1)
		switch p.Addressing {
		case "HMM":
			m.Value = uint32(nvml.DEVICE_ADDRESSING_MODE_HMM)
		case "ATS":
			m.Value = uint32(nvml.DEVICE_ADDRESSING_MODE_ATS)
		default:
			return m, nvml.ERROR_NOT_SUPPORTED
		}
		return m, nvml.SUCCESS
	})
}

func enableState(on bool) nvml.EnableState {
	if on {
		return nvml.FEATURE_ENABLED
	}
	return nvml.FEATURE_DISABLED
}
