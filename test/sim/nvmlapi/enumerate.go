// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// DeviceGetCount counts lost GPUs too: they are there, they do not answer.
func (l *library) DeviceGetCount() (n int, ret nvml.Return) {
	ret = l.read("nvmlDeviceGetCount_v2", func(s *sim.State) nvml.Return { n = len(s.GPUs); return nvml.SUCCESS })
	return n, ret
}

func (l *library) DeviceGetHandleByIndex(index int) (nvml.Device, nvml.Return) {
	return l.handle("nvmlDeviceGetHandleByIndex_v2", nvml.ERROR_INVALID_ARGUMENT, func(s *sim.State) *sim.GPU {
		if index < 0 || index >= len(s.GPUs) {
			return nil
		}
		return &s.GPUs[index]
	})
}

func (l *library) DeviceGetHandleByUUID(uuid string) (nvml.Device, nvml.Return) {
	if uuid == "" {
		return l.handle("nvmlDeviceGetHandleByUUID", nvml.ERROR_INVALID_ARGUMENT, func(*sim.State) *sim.GPU { return nil })
	}
	return l.handle("nvmlDeviceGetHandleByUUID", nvml.ERROR_NOT_FOUND, func(s *sim.State) *sim.GPU { return s.GPU(uuid) })
}

// DeviceGetHandleByPciBusId takes both forms of an address, with 4 and with 8
// digits of domain, in either case.
func (l *library) DeviceGetHandleByPciBusId(id string) (nvml.Device, nvml.Return) {
	want := strings.ToLower(id)
	if len(want) == len("00000000:65:01.0") {
		want = strings.TrimPrefix(want, "0000")
	}
	return l.handle("nvmlDeviceGetHandleByPciBusId_v2", nvml.ERROR_NOT_FOUND, func(s *sim.State) *sim.GPU {
		for i := range s.GPUs {
			if s.GPUs[i].PCI == want {
				return &s.GPUs[i]
			}
		}
		return nil
	})
}

// handle answers a look-up: find picks the GPU, missing is the answer when
// there is none. It looks before the call proper, so that a fault for that GPU
// strikes it.
func (l *library) handle(name string, missing nvml.Return, find func(*sim.State) *sim.GPU) (nvml.Device, nvml.Return) {
	uuid := ""
	if s, err := l.m.State(); err == nil {
		if g := find(&s); g != nil {
			uuid = g.UUID
		}
	}
	var dev nvml.Device
	ret := nvml.Return(l.m.Query(sim.Call{Name: name, UUID: uuid}, func(s *sim.State) sim.Code {
		if !l.initialized(s) {
			return sim.Uninitialized
		}
		g := find(s)
		switch {
		case g == nil:
			return sim.Code(missing)
		case g.Lost:
			return sim.GPUIsLost
		}
		dev = l.device(g.UUID)
		return sim.Success
	}))
	return dev, ret
}

// device is the one handle to a GPU.
func (l *library) device(uuid string) *device {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, ok := l.devices[uuid]
	if !ok {
		d = &device{baseDevice: baseDevice{refuser{l, uuid}}, lib: l, uuid: uuid}
		l.devices[uuid] = d
	}
	return d
}
