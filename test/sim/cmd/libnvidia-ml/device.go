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

//export nvmlDeviceGetUUID
func nvmlDeviceGetUUID(dev unsafe.Pointer, to *C.char, length C.uint) C.int {
	return deviceString(dev, to, length, nvml.Device.GetUUID)
}

//export nvmlDeviceGetName
func nvmlDeviceGetName(dev unsafe.Pointer, to *C.char, length C.uint) C.int {
	return deviceString(dev, to, length, nvml.Device.GetName)
}

func deviceString(dev unsafe.Pointer, to *C.char, length C.uint, get func(nvml.Device) (string, nvml.Return)) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		s, ret := get(d)
		return putString(to, length, s, ret)
	})
}

//export nvmlDeviceGetIndex
func nvmlDeviceGetIndex(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetIndex)
}

//export nvmlDeviceGetMinorNumber
func nvmlDeviceGetMinorNumber(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetMinorNumber)
}

//export nvmlDeviceGetModuleId
func nvmlDeviceGetModuleId(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetModuleId)
}

//export nvmlDeviceGetBrand
func nvmlDeviceGetBrand(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetBrand)
}

//export nvmlDeviceGetArchitecture
func nvmlDeviceGetArchitecture(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetArchitecture)
}

// deviceUint answers with a number or an enumeration, both C unsigned ints.
func deviceUint[T ~int | ~int32 | ~uint32](dev unsafe.Pointer, to *C.uint, get func(nvml.Device) (T, nvml.Return)) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		v, ret := get(d)
		return put(unsafe.Pointer(to), C.uint(v), ret)
	})
}

//export nvmlDeviceGetCudaComputeCapability
func nvmlDeviceGetCudaComputeCapability(dev unsafe.Pointer, major, minor *C.int) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		x, y, ret := d.GetCudaComputeCapability()
		if ret = put(unsafe.Pointer(major), C.int(x), ret); ret != nvml.SUCCESS {
			return ret
		}
		return put(unsafe.Pointer(minor), C.int(y), ret)
	})
}

//export nvmlDeviceGetPciInfo_v3
func nvmlDeviceGetPciInfo_v3(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		info, ret := d.GetPciInfo()
		return put(to, info, ret)
	})
}

// pciInfoV2 is the structure of the first two versions: the address in one
// form only, and four reserved words.
type pciInfoV2 struct {
	busID                                           [16]int8
	domain, bus, device, pciDeviceID, pciSubSysteID uint32
	reserved                                        [4]uint32
}

//export nvmlDeviceGetPciInfo
func nvmlDeviceGetPciInfo(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		i, ret := d.GetPciInfo()
		return put(to, pciInfoV2{i.BusIdLegacy, i.Domain, i.Bus, i.Device, i.PciDeviceId, i.PciSubSystemId, [4]uint32{}}, ret)
	})
}

//export nvmlDeviceGetPciInfo_v2
func nvmlDeviceGetPciInfo_v2(dev, to unsafe.Pointer) C.int { return nvmlDeviceGetPciInfo(dev, to) }
