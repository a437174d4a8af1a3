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

//export nvmlDeviceGetCount
func nvmlDeviceGetCount(to *C.uint) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		n, ret := lib.DeviceGetCount()
		return put(unsafe.Pointer(to), C.uint(n), ret)
	})
}

//export nvmlDeviceGetCount_v2
func nvmlDeviceGetCount_v2(to *C.uint) C.int { return nvmlDeviceGetCount(to) }

//export nvmlDeviceGetHandleByIndex
func nvmlDeviceGetHandleByIndex(index C.uint, to unsafe.Pointer) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		d, ret := lib.DeviceGetHandleByIndex(int(index))
		return putHandle(to, d, ret)
	})
}

//export nvmlDeviceGetHandleByIndex_v2
func nvmlDeviceGetHandleByIndex_v2(index C.uint, to unsafe.Pointer) C.int {
	return nvmlDeviceGetHandleByIndex(index, to)
}

//export nvmlDeviceGetHandleByUUID
func nvmlDeviceGetHandleByUUID(uuid *C.char, to unsafe.Pointer) C.int {
	return byName(uuid, to, nvml.Interface.DeviceGetHandleByUUID)
}

//export nvmlDeviceGetHandleByPciBusId
func nvmlDeviceGetHandleByPciBusId(id *C.char, to unsafe.Pointer) C.int {
	return byName(id, to, nvml.Interface.DeviceGetHandleByPciBusId)
}

//export nvmlDeviceGetHandleByPciBusId_v2
func nvmlDeviceGetHandleByPciBusId_v2(id *C.char, to unsafe.Pointer) C.int {
	return nvmlDeviceGetHandleByPciBusId(id, to)
}

func byName(name *C.char, to unsafe.Pointer, find func(nvml.Interface, string) (nvml.Device, nvml.Return)) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		if name == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		d, ret := find(lib, C.GoString(name))
		return putHandle(to, d, ret)
	})
}

func putHandle(to unsafe.Pointer, object any, ret nvml.Return) nvml.Return {
	if ret != nvml.SUCCESS {
		return ret
	}
	return put(to, process.token(object), ret)
}
