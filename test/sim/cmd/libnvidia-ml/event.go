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

//export nvmlEventSetCreate
func nvmlEventSetCreate(to unsafe.Pointer) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		set, ret := lib.EventSetCreate()
		return putHandle(to, set, ret)
	})
}

//export nvmlEventSetFree
func nvmlEventSetFree(set unsafe.Pointer) C.int {
	return onSet(set, nvml.EventSet.Free)
}

//export nvmlDeviceGetSupportedEventTypes
func nvmlDeviceGetSupportedEventTypes(dev, to unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		mask, ret := d.GetSupportedEventTypes()
		return put(to, mask, ret)
	})
}

//export nvmlDeviceRegisterEvents
func nvmlDeviceRegisterEvents(dev unsafe.Pointer, mask C.ulonglong, set unsafe.Pointer) C.int {
	return onDevice(dev, func(d nvml.Device) nvml.Return {
		e, ok := find[nvml.EventSet](set)
		if !ok {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		return d.RegisterEvents(uint64(mask), e)
	})
}

// eventData is nvmlEventData_t. The first version lacks the last two fields.
type eventData struct {
	device unsafe.Pointer
	kind   uint64
	data   uint64
	gi, ci uint32
}

//export nvmlEventSetWait_v2
func nvmlEventSetWait_v2(set, to unsafe.Pointer, ms C.uint) C.int {
	return onSet(set, func(e nvml.EventSet) nvml.Return {
		ev, ret := e.Wait(uint32(ms))
		if ret != nvml.SUCCESS {
			return ret
		}
		return put(to, eventData{process.token(ev.Device), ev.EventType, ev.EventData, ev.GpuInstanceId, ev.ComputeInstanceId}, ret)
	})
}

//export nvmlEventSetWait
func nvmlEventSetWait(set, to unsafe.Pointer, ms C.uint) C.int {
	type eventDataV1 struct {
		device     unsafe.Pointer
		kind, data uint64
	}
	return onSet(set, func(e nvml.EventSet) nvml.Return {
		ev, ret := e.Wait(uint32(ms))
		if ret != nvml.SUCCESS {
			return ret
		}
		return put(to, eventDataV1{process.token(ev.Device), ev.EventType, ev.EventData}, ret)
	})
}

func onSet(set unsafe.Pointer, f func(nvml.EventSet) nvml.Return) C.int { return on(set, f) }
