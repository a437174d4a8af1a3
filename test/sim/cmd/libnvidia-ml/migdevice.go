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

//export nvmlDeviceGetGpuInstanceId
func nvmlDeviceGetGpuInstanceId(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetGpuInstanceId)
}

//export nvmlDeviceGetComputeInstanceId
func nvmlDeviceGetComputeInstanceId(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetComputeInstanceId)
}

//export nvmlDeviceGetDeviceHandleFromMigDeviceHandle
func nvmlDeviceGetDeviceHandleFromMigDeviceHandle(dev, to unsafe.Pointer) C.int {
	return making(dev, to, func(d nvml.Device) (any, nvml.Return) { return d.GetDeviceHandleFromMigDeviceHandle() })
}

//export nvmlDeviceGetAttributes_v2
func nvmlDeviceGetAttributes_v2(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		a, ret := d.GetAttributes()
		return put(to, a, ret)
	})
}

// nvmlDeviceGetAttributes is the first version. In the header of drivers that
// have both it fills the same structure.
//
//export nvmlDeviceGetAttributes
func nvmlDeviceGetAttributes(dev, to unsafe.Pointer) C.int {
	return nvmlDeviceGetAttributes_v2(dev, to)
}
