// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"sync"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// main is never called: this is a library.
func main() {}

// session is what a C library keeps per process: the machine of the present
// session, and the objects the handles stand for.
type session struct {
	mu      sync.Mutex
	lib     nvml.Interface
	handles map[unsafe.Pointer]any
	tokens  map[any]unsafe.Pointer
}

// process is the one session of the process that loaded the library. A C
// library has nowhere else to keep it.
var process = &session{handles: map[unsafe.Pointer]any{}, tokens: map[any]unsafe.Pointer{}}

// open begins or joins the session. The first call reads the environment of C:
// Go's own copy was made when the library was loaded.
func (s *session) open(begin func(nvml.Interface) nvml.Return) nvml.Return {
	s.mu.Lock()
	defer s.mu.Unlock()
	lib := s.lib
	if lib == nil || !nvmlapi.Live(lib) {
		m, err := sim.Open(getenv("COTENANT_SIM_STATE", "/run/cotenant-sim"))
		if err != nil {
			return nvml.ERROR_DRIVER_NOT_LOADED
		}
		lib = nvmlapi.New(m, nvmlapi.BehindLinker())
	}
	ret := begin(lib)
	if ret == nvml.SUCCESS {
		s.lib = lib
	}
	return ret
}

// library is the present session's, nil before the first.
func (s *session) library() nvml.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lib
}

// token is the handle of an object: one address for each, made by C so that
// callers may keep it in C memory.
func (s *session) token(object any) unsafe.Pointer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tokens[object]; ok {
		return t
	}
	t := C.malloc(1)
	s.tokens[object], s.handles[t] = t, object
	return t
}

// find is the object of a handle. The address is looked up and never followed,
// so any value may be given.
func find[T any](handle unsafe.Pointer) (object T, ok bool) {
	process.mu.Lock()
	defer process.mu.Unlock()
	object, ok = process.handles[handle].(T)
	return object, ok
}

// call runs f on the session's library.
func call(f func(nvml.Interface) nvml.Return) C.int {
	lib := process.library()
	if lib == nil {
		return C.int(nvml.ERROR_UNINITIALIZED)
	}
	return C.int(f(lib))
}

// on runs f on the object of a handle, which must be of that kind.
func on[T any](handle unsafe.Pointer, f func(T) nvml.Return) C.int {
	return call(func(nvml.Interface) nvml.Return {
		object, ok := find[T](handle)
		if !ok {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		return f(object)
	})
}

// onDevice runs f on the device of a handle.
func onDevice(handle unsafe.Pointer, f func(nvml.Device) nvml.Return) C.int { return on(handle, f) }

func getenv(name, def string) string {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	if v := C.getenv(c); v != nil && *v != 0 {
		return C.GoString(v)
	}
	return def
}
