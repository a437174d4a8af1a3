// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"os"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// library is one process's loaded NVML.
type library struct {
	baseInterface
	m   *sim.Machine
	uid int
	// linked: a dynamic linker stands before this library and has already
	// refused the calls of what the driver does not have.
	linked bool

	mu   sync.Mutex
	refs int
	load int // the driver load this session talks to
	// handles holds one handle to each thing, so that handles compare equal as
	// the real library's do.
	handles handles
}

// Option changes whose process the library is loaded in.
type Option func(*library)

// AsUser makes the library answer as to a process of that user. By default it
// is the user of this process; only user 0 may change a GPU.
func AsUser(uid int) Option { return func(l *library) { l.uid = uid } }

// BehindLinker is for the C library: the dynamic linker looks symbols up there.
func BehindLinker() Option { return func(l *library) { l.linked = true } }

// New is NVML on the machine m. Each New is a library of its own with its own
// reference count, as in a process of its own. It is safe for concurrent use.
func New(m *sim.Machine, opts ...Option) nvml.Interface {
	l := &library{m: m, uid: os.Geteuid(), handles: noHandles()}
	l.baseInterface = baseInterface{refuser{lib: l}}
	for _, o := range opts {
		o(l)
	}
	return l
}

// refuser answers calls the simulated machine does not know: it lets every
// check of a real call happen and then says NOT_SUPPORTED.
type refuser struct {
	lib *library
	at  place // of the handle that the call is on; nowhere for a call on the library
}

func (r refuser) refuse(name string) nvml.Return {
	if r.at == (place{}) {
		return r.lib.read(name, func(*sim.State) nvml.Return { return nvml.ERROR_NOT_SUPPORTED })
	}
	_, ret := ask(r, name, func(sight) (int, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED })
	return ret
}

// place is itself where a handle's methods find it.
func (r refuser) place() place { return r.at }

// Refuse answers a function that the Go interface has no method for, as any
// other the machine does not know. lib is one that New made; handle is one that
// it gave, or anything else for a call that is on none.
func Refuse(lib nvml.Interface, handle any, name string) nvml.Return {
	l, ok := lib.(*library)
	if !ok {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	if h, ok := handle.(interface{ place() place }); ok {
		return refuser{l, h.place()}.refuse(name)
	}
	return refuser{lib: l}.refuse(name)
}

// Live reports whether lib, one that New made, is between Init and Shutdown.
func Live(lib nvml.Interface) bool {
	l, ok := lib.(*library)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refs > 0
}

// read answers a call that is about no one GPU.
func (l *library) read(name string, f func(*sim.State) nvml.Return) nvml.Return {
	return nvml.Return(l.m.Query(sim.Call{Name: name}, func(s *sim.State) sim.Code {
		mustHave(l, s, name)
		if !l.initialized(s) {
			return sim.Uninitialized
		}
		return sim.Code(f(s))
	}))
}

// initialized reports whether the session is one with the driver as now
// loaded. A real driver cannot be unloaded under an open session; here it can,
// and the session is then as good as none.
func (l *library) initialized(s *sim.State) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refs > 0 && l.load == s.Load
}

func (l *library) Init() nvml.Return { return l.open("nvmlInit_v2") }

func (l *library) InitWithFlags(uint32) nvml.Return { return l.open("nvmlInitWithFlags") }

func (l *library) open(name string) nvml.Return {
	return nvml.Return(l.m.Query(sim.Call{Name: name}, func(s *sim.State) sim.Code {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.load != s.Load {
			l.refs, l.load = 0, s.Load
		}
		l.refs++
		return sim.Success
	}))
}

func (l *library) Shutdown() nvml.Return {
	return l.read("nvmlShutdown", func(*sim.State) nvml.Return {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refs--
		return nvml.SUCCESS
	})
}
