// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// migDevice is a handle to a MIG device, which is a compute instance seen as a
// device. It is stale after the destruction of that.
type migDevice struct{ baseDevice }

// of answers a call on a MIG device with a value.
func of[T any](d *migDevice, name string, f func(sight) T) (T, nvml.Return) {
	return ask(d.refuser, name, func(see sight) (T, nvml.Return) { return f(see), nvml.SUCCESS })
}

func (d *migDevice) IsMigDeviceHandle() (bool, nvml.Return) {
	return of(d, "nvmlDeviceIsMigDeviceHandle", func(sight) bool { return true })
}

func (d *migDevice) GetDeviceHandleFromMigDeviceHandle() (nvml.Device, nvml.Return) {
	return of(d, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", func(see sight) nvml.Device { return d.lib.device(see.gpu.UUID) })
}

func (d *migDevice) GetGpuInstanceId() (int, nvml.Return) {
	return of(d, "nvmlDeviceGetGpuInstanceId", func(see sight) int { return see.gi.ID })
}

func (d *migDevice) GetComputeInstanceId() (int, nvml.Return) {
	return of(d, "nvmlDeviceGetComputeInstanceId", func(see sight) int { return see.ci.ID })
}

func (d *migDevice) GetUUID() (string, nvml.Return) {
	return of(d, "nvmlDeviceGetUUID", func(see sight) string { return see.ci.UUID })
}

// GetIndex is the index under the GPU.
func (d *migDevice) GetIndex() (int, nvml.Return) {
	return of(d, "nvmlDeviceGetIndex", func(see sight) int { return see.ci.Index })
}

// GetName is the GPU's with what part of it this is.
func (d *migDevice) GetName() (string, nvml.Return) {
	return of(d, "nvmlDeviceGetName", func(see sight) string {
		return see.product.Name + " MIG " + see.profile().MIGName(see.computeProfile())
	})
}

// GetAttributes counts what the compute instance has, and what it shares with
// the others of its GPU instance.
func (d *migDevice) GetAttributes() (nvml.DeviceAttributes, nvml.Return) {
	return of(d, "nvmlDeviceGetAttributes_v2", func(see sight) nvml.DeviceAttributes {
		pr, c := see.profile(), see.computeProfile()
		return nvml.DeviceAttributes{
			MultiprocessorCount: uint32(c.SMs), SharedCopyEngineCount: uint32(pr.CopyEngines), SharedDecoderCount: uint32(pr.Decoders),
			SharedEncoderCount: uint32(pr.Encoders), SharedJpegCount: uint32(pr.JPEG), SharedOfaCount: uint32(pr.OFA),
			GpuInstanceSliceCount: uint32(pr.ComputeSlices), ComputeInstanceSliceCount: uint32(c.Slices), MemorySizeMB: pr.MemoryMiB,
		}
	})
}

// GetMemoryInfo is that of the GPU instance, whose compute instances share it.
// Nothing of it is shown as reserved.
func (d *migDevice) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	m, ret := d.memory("nvmlDeviceGetMemoryInfo")
	return nvml.Memory{Total: m.Total, Free: m.Free, Used: m.Used}, ret
}

func (d *migDevice) GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return) {
	return d.memory("nvmlDeviceGetMemoryInfo_v2")
}

func (d *migDevice) memory(name string) (nvml.Memory_v2, nvml.Return) {
	return of(d, name, func(see sight) nvml.Memory_v2 {
		total, used := see.profile().MemoryMiB*mib, see.UsedByMiB(see.gpu.UUID, see.gi.ID)*mib
		m := nvml.Memory_v2{Total: total, Used: used, Free: total - used}
		m.Version = nvml.STRUCT_VERSION(m, 2)
		return m
	})
}

func (d *migDevice) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.processes("nvmlDeviceGetComputeRunningProcesses_v3", sim.Compute)
}

func (d *migDevice) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.processes("nvmlDeviceGetGraphicsRunningProcesses_v3", sim.Graphics)
}

func (d *migDevice) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", sim.MPS)
}

// processes are those on this compute instance.
func (d *migDevice) processes(name string, kind sim.ProcessKind) ([]nvml.ProcessInfo, nvml.Return) {
	return of(d, name, func(see sight) []nvml.ProcessInfo {
		var on []sim.Process
		for _, p := range see.On(see.gpu.UUID, kind) {
			if p.GI != nil && p.CI != nil && *p.GI == see.gi.ID && *p.CI == see.ci.ID {
				on = append(on, p)
			}
		}
		return processInfos(on)
	})
}

// GetComputeMode is the MIG device's own, as the header has it of a GPU with MIG
// enabled.
func (d *migDevice) GetComputeMode() (nvml.ComputeMode, nvml.Return) {
	return of(d, "nvmlDeviceGetComputeMode", func(see sight) nvml.ComputeMode { return nvml.ComputeMode(see.ci.ComputeMode) })
}

func (d *migDevice) SetComputeMode(mode nvml.ComputeMode) nvml.Return {
	_, ret := tell(d.refuser, "nvmlDeviceSetComputeMode", func(see sight) (int, nvml.Return) {
		if !isComputeMode(mode) {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		see.ci.ComputeMode = int(mode)
		return 0, nvml.SUCCESS
	})
	return ret
}
