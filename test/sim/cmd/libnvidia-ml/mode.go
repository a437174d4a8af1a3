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

//export nvmlDeviceGetMigMode
func nvmlDeviceGetMigMode(dev unsafe.Pointer, current, pending *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		c, p, ret := d.GetMigMode()
		return putTwo(current, pending, C.uint(c), C.uint(p), ret)
	})
}

//export nvmlDeviceGetEccMode
func nvmlDeviceGetEccMode(dev unsafe.Pointer, current, pending *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		c, p, ret := d.GetEccMode()
		return putTwo(current, pending, C.uint(c), C.uint(p), ret)
	})
}

func putTwo(a, b *C.uint, x, y C.uint, ret nvml.Return) nvml.Return {
	if ret = put(unsafe.Pointer(a), x, ret); ret != nvml.SUCCESS {
		return ret
	}
	return put(unsafe.Pointer(b), y, ret)
}

//export nvmlDeviceGetComputeMode
func nvmlDeviceGetComputeMode(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetComputeMode)
}

//export nvmlDeviceSetComputeMode
func nvmlDeviceSetComputeMode(dev unsafe.Pointer, mode C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return { return d.SetComputeMode(nvml.ComputeMode(mode)) })
}

//export nvmlDeviceGetPersistenceMode
func nvmlDeviceGetPersistenceMode(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetPersistenceMode)
}

//export nvmlDeviceSetPersistenceMode
func nvmlDeviceSetPersistenceMode(dev unsafe.Pointer, mode C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return { return d.SetPersistenceMode(nvml.EnableState(mode)) })
}

//export nvmlDeviceGetVirtualizationMode
func nvmlDeviceGetVirtualizationMode(dev unsafe.Pointer, to *C.uint) C.int {
	return deviceUint(dev, to, nvml.Device.GetVirtualizationMode)
}

//export nvmlDeviceGetAddressingMode
func nvmlDeviceGetAddressingMode(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		m, ret := d.GetAddressingMode()
		return putVersioned(to, 1, m, ret)
	})
}

//export nvmlDeviceGetTotalEccErrors
func nvmlDeviceGetTotalEccErrors(dev unsafe.Pointer, kind, counter C.uint, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		n, ret := d.GetTotalEccErrors(nvml.MemoryErrorType(kind), nvml.EccCounterType(counter))
		return put(to, n, ret)
	})
}

//export nvmlDeviceGetMemoryErrorCounter
func nvmlDeviceGetMemoryErrorCounter(dev unsafe.Pointer, kind, counter, location C.uint, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		n, ret := d.GetMemoryErrorCounter(nvml.MemoryErrorType(kind), nvml.EccCounterType(counter), nvml.MemoryLocation(location))
		return put(to, n, ret)
	})
}

//export nvmlDeviceGetRemappedRows
func nvmlDeviceGetRemappedRows(dev unsafe.Pointer, corr, unc, pending, failed *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		c, u, p, f, ret := d.GetRemappedRows()
		if ret = putTwo(corr, unc, C.uint(c), C.uint(u), ret); ret != nvml.SUCCESS {
			return ret
		}
		if ret = putBool(pending, p, ret); ret != nvml.SUCCESS {
			return ret
		}
		return putBool(failed, f, ret)
	})
}
