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

// put writes a result where the caller wants it.
func put[T any](to unsafe.Pointer, v T, ret nvml.Return) nvml.Return {
	if to == nil {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	if ret == nvml.SUCCESS {
		*(*T)(to) = v
	}
	return ret
}

// putString writes a C string into a buffer of the given length.
func putString(to *C.char, length C.uint, s string, ret nvml.Return) nvml.Return {
	switch {
	case ret != nvml.SUCCESS:
		return ret
	case to == nil:
		return nvml.ERROR_INVALID_ARGUMENT
	case int(length) < len(s)+1:
		return nvml.ERROR_INSUFFICIENT_SIZE
	}
	buf := unsafe.Slice((*byte)(unsafe.Pointer(to)), len(s)+1)
	copy(buf, s)
	buf[len(s)] = 0
	return nvml.SUCCESS
}

// putVersioned writes a structure whose first word says which version the
// caller has room for.
func putVersioned[T any](to unsafe.Pointer, version uint32, v T, ret nvml.Return) nvml.Return {
	if to == nil {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	if *(*uint32)(to) != nvml.STRUCT_VERSION(v, version) {
		return nvml.ERROR_ARGUMENT_VERSION_MISMATCH
	}
	return put(to, v, ret)
}

// putList writes a list in NVML's protocol: count holds the room on entry and
// the length on return; too little room is INSUFFICIENT_SIZE.
func putList[T any](count *C.uint, to unsafe.Pointer, list []T, ret nvml.Return) nvml.Return {
	switch {
	case ret != nvml.SUCCESS:
		return ret
	case count == nil:
		return nvml.ERROR_INVALID_ARGUMENT
	}
	room := int(*count)
	*count = C.uint(len(list))
	switch {
	case len(list) > room:
		return nvml.ERROR_INSUFFICIENT_SIZE
	case len(list) == 0:
		return nvml.SUCCESS
	case to == nil:
		return nvml.ERROR_INVALID_ARGUMENT
	}
	copy(unsafe.Slice((*T)(to), len(list)), list)
	return nvml.SUCCESS
}

// putBool writes a truth value as C has them.
func putBool(to *C.uint, v bool, ret nvml.Return) nvml.Return {
	n := C.uint(0)
	if v {
		n = 1
	}
	return put(unsafe.Pointer(to), n, ret)
}
