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

// gpuInstanceInfo is nvmlGpuInstanceInfo_t.
type gpuInstanceInfo struct {
	device      unsafe.Pointer
	id, profile uint32
	placement   nvml.GpuInstancePlacement
}

//export nvmlGpuInstanceGetInfo
func nvmlGpuInstanceGetInfo(gi, to unsafe.Pointer) C.int {
	return on(gi, func(i nvml.GpuInstance) nvml.Return {
		info, ret := i.GetInfo()
		if ret != nvml.SUCCESS {
			return ret
		}
		return put(to, gpuInstanceInfo{process.token(info.Device), info.Id, info.ProfileId, info.Placement}, ret)
	})
}

//export nvmlGpuInstanceDestroy
func nvmlGpuInstanceDestroy(gi unsafe.Pointer) C.int { return on(gi, nvml.GpuInstance.Destroy) }

//export nvmlGpuInstanceGetComputeInstanceProfileInfo
func nvmlGpuInstanceGetComputeInstanceProfileInfo(gi unsafe.Pointer, index, engines C.uint, to unsafe.Pointer) C.int {
	return on(gi, func(i nvml.GpuInstance) nvml.Return {
		info, ret := i.GetComputeInstanceProfileInfo(int(index), int(engines))
		return put(to, info, ret)
	})
}

// computeProfile names a compute instance profile by its id. Room for one is all
// that the lists ask of it.
func computeProfile(id C.uint) *nvml.ComputeInstanceProfileInfo {
	return &nvml.ComputeInstanceProfileInfo{Id: uint32(id), InstanceCount: 1}
}

//export nvmlGpuInstanceGetComputeInstancePossiblePlacements
func nvmlGpuInstanceGetComputeInstancePossiblePlacements(gi unsafe.Pointer, id C.uint, to unsafe.Pointer, count *C.uint) C.int {
	return on(gi, func(i nvml.GpuInstance) nvml.Return {
		list, ret := i.GetComputeInstancePossiblePlacements(computeProfile(id))
		if to == nil {
			return put(unsafe.Pointer(count), C.uint(len(list)), ret)
		}
		return putList(count, to, list, ret)
	})
}

//export nvmlGpuInstanceGetComputeInstanceRemainingCapacity
func nvmlGpuInstanceGetComputeInstanceRemainingCapacity(gi unsafe.Pointer, id C.uint, to *C.uint) C.int {
	return on(gi, func(i nvml.GpuInstance) nvml.Return {
		n, ret := i.GetComputeInstanceRemainingCapacity(computeProfile(id))
		return put(unsafe.Pointer(to), C.uint(n), ret)
	})
}

//export nvmlGpuInstanceCreateComputeInstance
func nvmlGpuInstanceCreateComputeInstance(gi unsafe.Pointer, id C.uint, to unsafe.Pointer) C.int {
	return making(gi, to, func(i nvml.GpuInstance) (any, nvml.Return) { return i.CreateComputeInstance(computeProfile(id)) })
}

//export nvmlGpuInstanceCreateComputeInstanceWithPlacement
func nvmlGpuInstanceCreateComputeInstanceWithPlacement(gi unsafe.Pointer, id C.uint, at, to unsafe.Pointer) C.int {
	return making(gi, to, func(i nvml.GpuInstance) (any, nvml.Return) {
		return i.CreateComputeInstanceWithPlacement(computeProfile(id), (*nvml.ComputeInstancePlacement)(at))
	})
}

//export nvmlGpuInstanceGetComputeInstances
func nvmlGpuInstanceGetComputeInstances(gi unsafe.Pointer, id C.uint, to unsafe.Pointer, count *C.uint) C.int {
	return on(gi, func(i nvml.GpuInstance) nvml.Return {
		list, ret := i.GetComputeInstances(computeProfile(id))
		return putHandles(count, to, list, ret)
	})
}

//export nvmlGpuInstanceGetComputeInstanceById
func nvmlGpuInstanceGetComputeInstanceById(gi unsafe.Pointer, id C.uint, to unsafe.Pointer) C.int {
	return making(gi, to, func(i nvml.GpuInstance) (any, nvml.Return) { return i.GetComputeInstanceById(int(id)) })
}
