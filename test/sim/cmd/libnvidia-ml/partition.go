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

//export nvmlDeviceSetMigMode
func nvmlDeviceSetMigMode(dev unsafe.Pointer, mode C.uint, activation *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		if activation == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		status, ret := d.SetMigMode(int(mode))
		return put(unsafe.Pointer(activation), C.uint(status), ret)
	})
}

//export nvmlDeviceCreateGpuInstance
func nvmlDeviceCreateGpuInstance(dev unsafe.Pointer, id C.uint, to unsafe.Pointer) C.int {
	return making(dev, to, func(d nvml.Device) (any, nvml.Return) {
		return d.CreateGpuInstance(&nvml.GpuInstanceProfileInfo{Id: uint32(id)})
	})
}

//export nvmlDeviceCreateGpuInstanceWithPlacement
func nvmlDeviceCreateGpuInstanceWithPlacement(dev unsafe.Pointer, id C.uint, at, to unsafe.Pointer) C.int {
	return making(dev, to, func(d nvml.Device) (any, nvml.Return) {
		return d.CreateGpuInstanceWithPlacement(&nvml.GpuInstanceProfileInfo{Id: uint32(id)}, (*nvml.GpuInstancePlacement)(at))
	})
}

// making answers a call on the object of a handle that makes another, for which
// the caller must have a place.
func making[T any](handle, to unsafe.Pointer, f func(T) (any, nvml.Return)) C.int {
	return on(handle, func(object T) nvml.Return {
		if to == nil {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		made, ret := f(object)
		return putHandle(to, made, ret)
	})
}

//export nvmlDeviceGetGpuInstances
func nvmlDeviceGetGpuInstances(dev unsafe.Pointer, id C.uint, to unsafe.Pointer, count *C.uint) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		// The length that the caller has room for does not come along in C.
		list, ret := d.GetGpuInstances(&nvml.GpuInstanceProfileInfo{Id: uint32(id), InstanceCount: 1})
		return putHandles(count, to, list, ret)
	})
}

// putHandles writes handles where the header has the caller keep room for as many
// as there can be, and says how many they are.
func putHandles[T any](count *C.uint, to unsafe.Pointer, list []T, ret nvml.Return) nvml.Return {
	switch {
	case ret != nvml.SUCCESS:
		return ret
	case count == nil || to == nil:
		return nvml.ERROR_INVALID_ARGUMENT
	}
	*count = C.uint(len(list))
	out := unsafe.Slice((*unsafe.Pointer)(to), len(list))
	for i, object := range list {
		out[i] = process.token(object)
	}
	return nvml.SUCCESS
}

//export nvmlDeviceGetGpuInstanceById
func nvmlDeviceGetGpuInstanceById(dev unsafe.Pointer, id C.uint, to unsafe.Pointer) C.int {
	return making(dev, to, func(d nvml.Device) (any, nvml.Return) { return d.GetGpuInstanceById(int(id)) })
}

//export nvmlDeviceGetGpuInstanceRemainingCapacity
func nvmlDeviceGetGpuInstanceRemainingCapacity(dev unsafe.Pointer, id C.uint, to *C.uint) C.int {
	return deviceUint(dev, to, func(d nvml.Device) (int, nvml.Return) {
		return d.GetGpuInstanceRemainingCapacity(&nvml.GpuInstanceProfileInfo{Id: uint32(id)})
	})
}
