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

	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

//export nvmlInit
func nvmlInit() C.int { return C.int(process.open(nvml.Interface.Init)) }

//export nvmlInit_v2
func nvmlInit_v2() C.int { return nvmlInit() }

//export nvmlInitWithFlags
func nvmlInitWithFlags(flags C.uint) C.int {
	return C.int(process.open(func(lib nvml.Interface) nvml.Return { return lib.InitWithFlags(uint32(flags)) }))
}

//export nvmlShutdown
func nvmlShutdown() C.int { return call(nvml.Interface.Shutdown) }

// nvmlErrorString lends a string that stays for ever, so it is made once.
//
//export nvmlErrorString
func nvmlErrorString(code C.int) *C.char {
	process.mu.Lock()
	defer process.mu.Unlock()
	words := nvmlapi.ErrorString(nvml.Return(code))
	if t, ok := process.tokens[words]; ok {
		return (*C.char)(t)
	}
	s := C.CString(words)
	process.tokens[words] = unsafe.Pointer(s)
	return s
}

//export nvmlSystemGetDriverVersion
func nvmlSystemGetDriverVersion(to *C.char, length C.uint) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		v, ret := lib.SystemGetDriverVersion()
		return putString(to, length, v, ret)
	})
}

//export nvmlSystemGetNVMLVersion
func nvmlSystemGetNVMLVersion(to *C.char, length C.uint) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		v, ret := lib.SystemGetNVMLVersion()
		return putString(to, length, v, ret)
	})
}

//export nvmlSystemGetCudaDriverVersion
func nvmlSystemGetCudaDriverVersion(to *C.int) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		v, ret := lib.SystemGetCudaDriverVersion()
		return put(unsafe.Pointer(to), C.int(v), ret)
	})
}

//export nvmlSystemGetCudaDriverVersion_v2
func nvmlSystemGetCudaDriverVersion_v2(to *C.int) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		v, ret := lib.SystemGetCudaDriverVersion_v2()
		return put(unsafe.Pointer(to), C.int(v), ret)
	})
}

// simRefuse is what a stub in zz_stubs.c calls: name is the stub's, handle its
// first argument, which is a device or an instance where one comes first.
//
//export simRefuse
func simRefuse(name *C.char, handle unsafe.Pointer) C.int {
	return call(func(lib nvml.Interface) nvml.Return {
		object, _ := find[any](handle)
		return nvmlapi.Refuse(lib, object, C.GoString(name))
	})
}
