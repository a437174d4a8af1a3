// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package readonly

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// Device is a GPU or a MIG device. The zero Device is of no use; it comes with a
// code that is not SUCCESS.
type Device struct {
	getters
	dev nvml.Device
}

// getters are those whose answers are plain values.
type getters interface {
	GetAddressingMode() (nvml.DeviceAddressingMode, nvml.Return)
	GetArchitecture() (nvml.DeviceArchitecture, nvml.Return)
	GetAttributes() (nvml.DeviceAttributes, nvml.Return)
	GetBrand() (nvml.BrandType, nvml.Return)
	GetComputeInstanceId() (int, nvml.Return)
	GetComputeMode() (nvml.ComputeMode, nvml.Return)
	GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetCudaComputeCapability() (int, int, nvml.Return)
	GetEccMode() (nvml.EnableState, nvml.EnableState, nvml.Return)
	GetGpuInstanceId() (int, nvml.Return)
	GetGpuInstancePossiblePlacements(*nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return)
	GetGpuInstanceProfileInfo(int) (nvml.GpuInstanceProfileInfo, nvml.Return)
	GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetIndex() (int, nvml.Return)
	GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return)
	GetMaxMigDeviceCount() (int, nvml.Return)
	GetMemoryInfo() (nvml.Memory, nvml.Return)
	GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return)
	GetMemoryLimits_v1(string) (nvml.MemoryLimits_v1, nvml.Return)
	GetMigMode() (int, int, nvml.Return)
	GetMinorNumber() (int, nvml.Return)
	GetModuleId() (int, nvml.Return)
	GetName() (string, nvml.Return)
	GetPciInfo() (nvml.PciInfo, nvml.Return)
	GetPersistenceMode() (nvml.EnableState, nvml.Return)
	GetRemappedRows() (int, int, bool, bool, nvml.Return)
	GetSupportedEventTypes() (uint64, nvml.Return)
	GetTotalEccErrors(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return)
	GetUUID() (string, nvml.Return)
	GetVirtualizationMode() (nvml.GpuVirtualizationMode, nvml.Return)
	IsMigDeviceHandle() (bool, nvml.Return)
}

func device(dev nvml.Device, ret nvml.Return) (Device, nvml.Return) {
	if ret != nvml.SUCCESS {
		return Device{}, ret
	}
	return Device{dev, dev}, ret
}

// GetMigDeviceHandleByIndex finds a MIG device of a GPU.
func (d Device) GetMigDeviceHandleByIndex(index int) (Device, nvml.Return) {
	return device(d.dev.GetMigDeviceHandleByIndex(index))
}

// GetDeviceHandleFromMigDeviceHandle is the GPU of a MIG device.
func (d Device) GetDeviceHandleFromMigDeviceHandle() (Device, nvml.Return) {
	return device(d.dev.GetDeviceHandleFromMigDeviceHandle())
}

// GetGpuInstances are the GPU instances of one profile.
func (d Device) GetGpuInstances(info *nvml.GpuInstanceProfileInfo) ([]Instance, nvml.Return) {
	got, ret := d.dev.GetGpuInstances(info)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	var out []Instance
	for _, gi := range got {
		out = append(out, Instance{gi})
	}
	return out, ret
}
