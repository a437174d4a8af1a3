// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// eventSet is a process's registrations. Events from before a registration
// are not delivered to it.
type eventSet struct {
	baseEventSet
	lib *library

	mu    sync.Mutex
	freed bool
	gpus  map[string]*registration // by GPU UUID
}

type registration struct {
	mask uint64
	seen uint64 // the newest event that is not to be delivered any more
}

func (l *library) EventSetCreate() (nvml.EventSet, nvml.Return) {
	set := &eventSet{baseEventSet: baseEventSet{refuser{lib: l}}, lib: l, gpus: map[string]*registration{}}
	return set, l.read("nvmlEventSetCreate", func(*sim.State) nvml.Return { return nvml.SUCCESS })
}

func (e *eventSet) Free() nvml.Return {
	return e.lib.read("nvmlEventSetFree", func(*sim.State) nvml.Return {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.freed {
			return nvml.ERROR_INVALID_ARGUMENT
		}
		e.freed = true
		return nvml.SUCCESS
	})
}

func (d *device) GetSupportedEventTypes() (uint64, nvml.Return) {
	return get(d, "nvmlDeviceGetSupportedEventTypes", func(_ *sim.State, _ *sim.GPU, p sim.Product) (uint64, nvml.Return) {
		return supportedEvents(p), nvml.SUCCESS
	})
}

func supportedEvents(p sim.Product) uint64 {
	mask := uint64(nvml.EventTypeXidCriticalError)
	if p.ECC {
		mask |= nvml.EventTypeSingleBitEccError | nvml.EventTypeDoubleBitEccError
	}
	if p.MIG {
		mask |= nvml.EventMigConfigChange
	}
	return mask
}

// RegisterEvents adds types to what the set waits for on this GPU.
func (d *device) RegisterEvents(mask uint64, set nvml.EventSet) nvml.Return {
	_, ret := get(d, "nvmlDeviceRegisterEvents", func(s *sim.State, g *sim.GPU, p sim.Product) (int, nvml.Return) {
		e, ok := set.(*eventSet)
		if !ok {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		if mask&^supportedEvents(p) != 0 {
			return 0, nvml.ERROR_NOT_SUPPORTED
		}
		return 0, e.register(g.UUID, mask, s.EventSeq)
	})
	return ret
}

func (e *eventSet) register(uuid string, mask, newest uint64) nvml.Return {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.freed {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	if r, ok := e.gpus[uuid]; ok {
		r.mask |= mask
		return nvml.SUCCESS
	}
	e.gpus[uuid] = &registration{mask: mask, seen: newest}
	return nvml.SUCCESS
}

func (l *library) EventSetWait(set nvml.EventSet, ms uint32) (nvml.EventData, nvml.Return) {
	return set.Wait(ms)
}

func (l *library) EventSetFree(set nvml.EventSet) nvml.Return { return set.Free() }

// Wait delivers one event, or TIMEOUT after ms milliseconds. When all events
// are delivered and a registered GPU is lost it answers GPU_IS_LOST at once,
// each time; how often the real library does is not known.
func (e *eventSet) Wait(ms uint32) (data nvml.EventData, ret nvml.Return) {
	ret = e.lib.read("nvmlEventSetWait_v2", func(*sim.State) nvml.Return { return nvml.SUCCESS })
	if ret != nvml.SUCCESS {
		return data, ret
	}
	ret = nvml.ERROR_TIMEOUT
	_, err := e.lib.m.Watch(time.Duration(ms)*time.Millisecond, func(s *sim.State) bool {
		data, ret = e.take(s)
		return ret != nvml.ERROR_TIMEOUT
	})
	if err != nil {
		return nvml.EventData{}, nvml.ERROR_UNKNOWN
	}
	return data, ret
}

// take is the oldest undelivered event, TIMEOUT when there is none yet.
func (e *eventSet) take(s *sim.State) (nvml.EventData, nvml.Return) {
	if !e.lib.initialized(s) {
		return nvml.EventData{}, nvml.ERROR_UNINITIALIZED
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.freed {
		return nvml.EventData{}, nvml.ERROR_INVALID_ARGUMENT
	}
	for _, ev := range s.Events {
		r, ok := e.gpus[ev.UUID]
		if !ok || ev.Seq <= r.seen || ev.Type&r.mask == 0 {
			continue
		}
		r.seen = ev.Seq
		return e.lib.eventData(ev), nvml.SUCCESS
	}
	for uuid := range e.gpus {
		if g := s.GPU(uuid); g != nil && g.Lost {
			return nvml.EventData{}, nvml.ERROR_GPU_IS_LOST
		}
	}
	return nvml.EventData{}, nvml.ERROR_TIMEOUT
}

// eventData names the instances of an event to root alone.
func (l *library) eventData(ev sim.Event) nvml.EventData {
	data := nvml.EventData{
		Device: l.device(ev.UUID), EventType: ev.Type, EventData: ev.Data,
		GpuInstanceId: wholeGPU, ComputeInstanceId: wholeGPU,
	}
	if l.uid == 0 && ev.GI != nil {
		data.GpuInstanceId = *ev.GI
	}
	if l.uid == 0 && ev.CI != nil {
		data.ComputeInstanceId = *ev.CI
	}
	return data
}
