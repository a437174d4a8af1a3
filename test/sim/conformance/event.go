// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const wholeGPU = 0xFFFFFFFF

// soon is a wait in milliseconds for what is there or on its way, and now one
// for what must not be.
const (
	soon = 10_000
	now  = 0
)

func events() []behaviour {
	return []behaviour{
		{name: "only events after the registration", gpus: []string{"A30-24", "A30-24"}, run: func(e *env) {
			e.do(e.m.XID(0, 31, nil, nil))
			set := e.listen(0)
			e.quiet(set)
			e.do(e.m.XID(1, 48, nil, nil)) // nobody registered for GPU 1
			e.do(e.m.XID(0, 94, new(uint32(3)), new(uint32(0))))
			e.do(e.m.XID(0, 79, nil, nil))
			e.next(set, 0, 94, 3, 0)
			e.next(set, 0, 79, wholeGPU, wholeGPU)
			e.quiet(set)
			e.is("Free", set.Free(), nvml.SUCCESS)
		}},
		{name: "a wait ends when the event comes", gpus: []string{"A30-24"}, run: func(e *env) {
			set := e.listen(0)
			failed := make(chan error, 1)
			go func() { failed <- e.m.XID(0, 31, nil, nil) }()
			e.next(set, 0, 31, wholeGPU, wholeGPU)
			e.do(<-failed)
		}},
		{name: "a wait ends after its time", gpus: []string{"A30-24"}, run: func(e *env) {
			set := e.listen(0)
			begun := time.Now()
			_, ret := set.Wait(30)
			e.is("Wait", ret, nvml.ERROR_TIMEOUT)
			if took := time.Since(begun); took < 30*time.Millisecond {
				e.Errorf("a wait of 30 ms took %s", took)
			}
		}},
		{name: "each set has each event", gpus: []string{"A30-24"}, run: func(e *env) {
			a, b := e.listen(0), e.listen(0)
			e.do(e.m.XID(0, 31, nil, nil))
			e.next(a, 0, 31, wholeGPU, wholeGPU)
			e.next(b, 0, 31, wholeGPU, wholeGPU)
		}},
		{name: "unsupported event types", gpus: []string{"GB10"}, run: func(e *env) {
			d := e.dev(0)
			mask, ret := d.GetSupportedEventTypes()
			equal(e, "types", mask, ret, nvml.EventTypeXidCriticalError)
			set, ret := e.lib.EventSetCreate()
			e.is("create", ret, nvml.SUCCESS)
			e.is("register", d.RegisterEvents(nvml.EventTypeDoubleBitEccError, set), nvml.ERROR_NOT_SUPPORTED)
			e.is("Free", set.Free(), nvml.SUCCESS)
			e.is("register with a freed set", d.RegisterEvents(nvml.EventTypeXidCriticalError, set), nvml.ERROR_INVALID_ARGUMENT)
		}},
	}
}

// listen is an event set registered for the XIDs of a GPU.
func (e *env) listen(gpu int) nvml.EventSet {
	e.Helper()
	set, ret := e.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		e.Fatalf("creating an event set: %v", ret)
	}
	e.is("register", e.dev(gpu).RegisterEvents(nvml.EventTypeXidCriticalError, set), nvml.SUCCESS)
	return set
}

// next expects one XID event.
func (e *env) next(set nvml.EventSet, gpu int, xid uint64, gi, ci uint32) {
	e.Helper()
	ev, ret := set.Wait(soon)
	if ret != nvml.SUCCESS {
		e.Fatalf("waiting for XID %d: %v", xid, ret)
	}
	equal(e, "event", [3]uint64{ev.EventType, ev.EventData, uint64(ev.GpuInstanceId)<<32 | uint64(ev.ComputeInstanceId)}, ret,
		[3]uint64{nvml.EventTypeXidCriticalError, xid, uint64(gi)<<32 | uint64(ci)})
	s, err := e.m.State()
	e.do(err)
	if !s.GPUs[gpu].Lost {
		uuid, ret := ev.Device.GetUUID()
		equal(e, "GPU of the event", uuid, ret, s.GPUs[gpu].UUID)
	}
}

func (e *env) quiet(set nvml.EventSet) {
	e.Helper()
	ev, ret := set.Wait(now)
	if ret != nvml.ERROR_TIMEOUT {
		e.Errorf("an event that should not be: %+v (%v)", ev, ret)
	}
}
