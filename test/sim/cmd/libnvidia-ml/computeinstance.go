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

// computeInstanceInfo is nvmlComputeInstanceInfo_t. The first version lacks the
// placement.
type computeInstanceInfo struct {
	computeInstanceInfoV1
	placement nvml.ComputeInstancePlacement
}

type computeInstanceInfoV1 struct {
	device, gpuInstance unsafe.Pointer
	id, profile         uint32
}

//export nvmlComputeInstanceGetInfo_v2
func nvmlComputeInstanceGetInfo_v2(ci, to unsafe.Pointer) C.int {
	return on(ci, func(c nvml.ComputeInstance) nvml.Return {
		info, ret := c.GetInfo()
		if ret != nvml.SUCCESS {
			return ret
		}
		return put(to, computeInstanceInfo{oldComputeInfo(info), info.Placement}, ret)
	})
}

//export nvmlComputeInstanceGetInfo
func nvmlComputeInstanceGetInfo(ci, to unsafe.Pointer) C.int {
	return on(ci, func(c nvml.ComputeInstance) nvml.Return {
		info, ret := c.GetInfo()
		if ret != nvml.SUCCESS {
			return ret
		}
		return put(to, oldComputeInfo(info), ret)
	})
}

func oldComputeInfo(info nvml.ComputeInstanceInfo) computeInstanceInfoV1 {
	return computeInstanceInfoV1{process.token(info.Device), process.token(info.GpuInstance), info.Id, info.ProfileId}
}

//export nvmlComputeInstanceDestroy
func nvmlComputeInstanceDestroy(ci unsafe.Pointer) C.int {
	return on(ci, nvml.ComputeInstance.Destroy)
}
