// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

/*
#include <stddef.h>
*/
import "C"

import (
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

//export nvmlDeviceGetMemoryInfo
func nvmlDeviceGetMemoryInfo(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		m, ret := d.GetMemoryInfo()
		return put(to, m, ret)
	})
}

//export nvmlDeviceGetMemoryInfo_v2
func nvmlDeviceGetMemoryInfo_v2(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		m, ret := d.GetMemoryInfo_v2()
		return putVersioned(to, 2, m, ret)
	})
}

type lister func(nvml.Device) ([]nvml.ProcessInfo, nvml.Return)

// processes answers with the entries of the second and third version, which
// name the instances.
func processes(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer, list lister) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		infos, ret := list(d)
		return putList(count, to, infos, ret)
	})
}

// processesV1 answers with the entries of the first version.
func processesV1(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer, list lister) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		infos, ret := list(d)
		var old []nvml.ProcessInfo_v1
		for _, p := range infos {
			old = append(old, nvml.ProcessInfo_v1{Pid: p.Pid, UsedGpuMemory: p.UsedGpuMemory})
		}
		return putList(count, to, old, ret)
	})
}

//export nvmlDeviceGetComputeRunningProcesses
func nvmlDeviceGetComputeRunningProcesses(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processesV1(dev, count, to, nvml.Device.GetComputeRunningProcesses)
}

//export nvmlDeviceGetComputeRunningProcesses_v2
func nvmlDeviceGetComputeRunningProcesses_v2(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processes(dev, count, to, nvml.Device.GetComputeRunningProcesses)
}

//export nvmlDeviceGetComputeRunningProcesses_v3
func nvmlDeviceGetComputeRunningProcesses_v3(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processes(dev, count, to, nvml.Device.GetComputeRunningProcesses)
}

//export nvmlDeviceGetGraphicsRunningProcesses
func nvmlDeviceGetGraphicsRunningProcesses(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processesV1(dev, count, to, nvml.Device.GetGraphicsRunningProcesses)
}

//export nvmlDeviceGetGraphicsRunningProcesses_v2
func nvmlDeviceGetGraphicsRunningProcesses_v2(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processes(dev, count, to, nvml.Device.GetGraphicsRunningProcesses)
}

//export nvmlDeviceGetGraphicsRunningProcesses_v3
func nvmlDeviceGetGraphicsRunningProcesses_v3(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processes(dev, count, to, nvml.Device.GetGraphicsRunningProcesses)
}

//export nvmlDeviceGetMPSComputeRunningProcesses
func nvmlDeviceGetMPSComputeRunningProcesses(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processesV1(dev, count, to, nvml.Device.GetMPSComputeRunningProcesses)
}

//export nvmlDeviceGetMPSComputeRunningProcesses_v2
func nvmlDeviceGetMPSComputeRunningProcesses_v2(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processes(dev, count, to, nvml.Device.GetMPSComputeRunningProcesses)
}

//export nvmlDeviceGetMPSComputeRunningProcesses_v3
func nvmlDeviceGetMPSComputeRunningProcesses_v3(dev unsafe.Pointer, count *C.uint, to unsafe.Pointer) C.int {
	return processes(dev, count, to, nvml.Device.GetMPSComputeRunningProcesses)
}

//export nvmlDeviceSetMemoryLimits_v1
func nvmlDeviceSetMemoryLimits_v1(dev, limits unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		if limits == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		l := (*nvml.SetMemoryLimits_v1)(limits)
		if l.NameSpace == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		return d.SetMemoryLimits_v1(text(l.NameSpace), l.SoftLimit, l.HardLimit)
	})
}

//export nvmlDeviceGetMemoryLimits_v1
func nvmlDeviceGetMemoryLimits_v1(dev, limits unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		if limits == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		l := (*nvml.GetMemoryLimits_v1)(limits)
		if l.NameSpace == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		have, ret := d.GetMemoryLimits_v1(text(l.NameSpace))
		if ret == nvml.SUCCESS {
			l.SoftLimit, l.HardLimit, l.CurrentUsed = have.SoftLimit, have.HardLimit, have.CurrentUsed
		}
		return ret
	})
}

// text is a C string.
func text(s *int8) string { return C.GoString((*C.char)(unsafe.Pointer(s))) }
