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

//export nvmlDeviceIsMigDeviceHandle
func nvmlDeviceIsMigDeviceHandle(dev unsafe.Pointer, to *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		is, ret := d.IsMigDeviceHandle()
		return putBool(to, is, ret)
	})
}

//export nvmlDeviceGetMaxMigDeviceCount
func nvmlDeviceGetMaxMigDeviceCount(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetMaxMigDeviceCount)
}

//export nvmlDeviceGetMigDeviceHandleByIndex
func nvmlDeviceGetMigDeviceHandleByIndex(dev unsafe.Pointer, index C.uint, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		mig, ret := d.GetMigDeviceHandleByIndex(int(index))
		return putHandle(to, mig, ret)
	})
}

//export nvmlDeviceGetGpuInstanceProfileInfo
func nvmlDeviceGetGpuInstanceProfileInfo(dev unsafe.Pointer, index C.uint, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		info, ret := d.GetGpuInstanceProfileInfo(int(index))
		return put(to, info, ret)
	})
}

// placements answers with what a profile, named by its id, may occupy. Without
// a buffer it answers how many there are.
func placements(dev unsafe.Pointer, id C.uint, to unsafe.Pointer, count *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		list, ret := d.GetGpuInstancePossiblePlacements(&nvml.GpuInstanceProfileInfo{Id: uint32(id)})
		if to == nil {
			return put(unsafe.Pointer(count), C.uint(len(list)), ret)
		}
		return putList(count, to, list, ret)
	})
}

//export nvmlDeviceGetGpuInstancePossiblePlacements
func nvmlDeviceGetGpuInstancePossiblePlacements(dev unsafe.Pointer, id C.uint, to unsafe.Pointer, count *C.uint) C.int {
	return placements(dev, id, to, count)
}

//export nvmlDeviceGetGpuInstancePossiblePlacements_v2
func nvmlDeviceGetGpuInstancePossiblePlacements_v2(dev unsafe.Pointer, id C.uint, to unsafe.Pointer, count *C.uint) C.int {
	return placements(dev, id, to, count)
}
