// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package readonly

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// Library is NVML as loaded in this process.
type Library struct{ lib nvml.Interface }

// New returns the library without its setters.
func New(lib nvml.Interface) Library { return Library{lib} }

// Init opens a session and Shutdown ends it.
func (l Library) Init() nvml.Return     { return l.lib.Init() }
func (l Library) Shutdown() nvml.Return { return l.lib.Shutdown() }

// LookupSymbol tells whether the driver's library has a function. Calling one that
// it lacks ends the process.
func (l Library) LookupSymbol(name string) error { return l.lib.Extensions().LookupSymbol(name) }

// SystemGetDriverVersion is such as "580.65.06".
func (l Library) SystemGetDriverVersion() (string, nvml.Return) {
	return l.lib.SystemGetDriverVersion()
}

// SystemGetCudaDriverVersion is 13040 for 13.4.
func (l Library) SystemGetCudaDriverVersion() (int, nvml.Return) {
	return l.lib.SystemGetCudaDriverVersion()
}

// DeviceGetCount counts the GPUs.
func (l Library) DeviceGetCount() (int, nvml.Return) { return l.lib.DeviceGetCount() }

// DeviceGetHandleByIndex, …ByUUID and …ByPciBusId find one GPU.
func (l Library) DeviceGetHandleByIndex(index int) (Device, nvml.Return) {
	return device(l.lib.DeviceGetHandleByIndex(index))
}

func (l Library) DeviceGetHandleByUUID(uuid string) (Device, nvml.Return) {
	return device(l.lib.DeviceGetHandleByUUID(uuid))
}

func (l Library) DeviceGetHandleByPciBusId(id string) (Device, nvml.Return) {
	return device(l.lib.DeviceGetHandleByPciBusId(id))
}
