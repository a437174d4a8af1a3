// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"strconv"
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
	if strings.HasPrefix(uuid, "MIG-") {
		return l.migHandle("nvmlDeviceGetHandleByUUID", uuid)
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
	return l.lookUp(name, missing, func(s *sim.State) (*sim.GPU, nvml.Device) {
		g := find(s)
		if g == nil {
			return nil, nil
		}
		return g, l.device(g.UUID)
	})
}

// lookUp is handle for a device of either kind; find also gives the GPU it is on.
func (l *library) lookUp(name string, missing nvml.Return, find func(*sim.State) (*sim.GPU, nvml.Device)) (nvml.Device, nvml.Return) {
	uuid := ""
	if s, err := l.m.State(); err == nil {
		if g, _ := find(&s); g != nil {
			uuid = g.UUID
		}
	}
	var dev nvml.Device
	ret := nvml.Return(l.m.Query(sim.Call{Name: name, UUID: uuid}, func(s *sim.State) sim.Code {
		if !l.initialized(s) {
			return sim.Uninitialized
		}
		g, d := find(s)
		switch {
		case g == nil:
			return sim.Code(missing)
		case g.Lost:
			return sim.GPUIsLost
		}
		dev = d
		return sim.Success
	}))
	return dev, ret
}

// migHandle finds a MIG device by either form of its UUID: its own, or the one of
// drivers before R470, "MIG-GPU-<uuid>/<GPU instance>/<compute instance>".
func (l *library) migHandle(name, uuid string) (nvml.Device, nvml.Return) {
	gpu, gi, ci, old := oldMIGUUID(uuid)
	return l.lookUp(name, nvml.ERROR_NOT_FOUND, func(s *sim.State) (*sim.GPU, nvml.Device) {
		g, _, c := s.MIGDevice(uuid)
		if c == nil && old {
			if g = s.GPU(gpu); g != nil && g.GI(gi) != nil {
				c = g.GI(gi).CI(ci)
			}
		}
		if c == nil {
			return nil, nil
		}
		return g, l.migDevice(g.UUID, c.Seq)
	})
}

func oldMIGUUID(uuid string) (gpu string, gi, ci int, ok bool) {
	part := strings.Split(strings.TrimPrefix(uuid, "MIG-"), "/")
	if len(part) != 3 {
		return "", 0, 0, false
	}
	gi, err := strconv.Atoi(part[1])
	ci, err2 := strconv.Atoi(part[2])
	return part[0], gi, ci, err == nil && err2 == nil
}
