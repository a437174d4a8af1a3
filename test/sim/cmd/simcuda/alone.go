// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// own are contexts without MPS: processes of a client of the machine.
type own struct {
	m    *sim.Machine
	lost chan sim.CUDAError

	self *sim.Client

	mu    sync.Mutex
	ended sim.CUDAError // why there is no context any more
}

// alone opens contexts without MPS.
func (h *host) alone(name string, devices []device) (*own, error) {
	self, err := h.m.Enter()
	if err != nil {
		return nil, err
	}
	o := &own{m: h.m, self: self, lost: make(chan sim.CUDAError, 1)}
	groups := h.cgroups()
	for i := range devices {
		d := &devices[i]
		err := self.Change(func(s *sim.State, e *sim.Entry) error {
			on, err := s.Device(d.UUID)
			if err != nil {
				return err
			}
			p := on.At(sim.Process{PID: os.Getpid(), Kind: sim.Compute, Name: name, Client: self.ID(), Context: i + 1, Cgroups: groups})
			e.Processes = append(e.Processes, p)
			return s.Open(on, p)
		})
		d.fail(err)
	}
	go o.watch()
	return o, nil
}

// watch finds that the machine has ended a context.
func (o *own) watch() {
	why := sim.CUDAUnknown
	_, err := o.m.Watch(math.MaxInt64, func(s *sim.State) bool {
		missing := o.self.Missing(s)
		if len(missing) == 0 {
			return false
		}
		if g := s.GPU(missing[0].UUID); g != nil && !g.Lost {
			why = sim.CUDAContextIsDestroyed
		}
		return true
	})
	if err != nil {
		why = sim.CUDAUnknown
	}
	o.end(why)
}

// end ends all contexts, once.
func (o *own) end(why sim.CUDAError) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended != "" {
		return
	}
	o.ended = why
	o.lost <- why
	_ = o.self.Change(func(_ *sim.State, e *sim.Entry) error { e.Processes = nil; return nil }) // a machine that is gone has none
}

func (o *own) Lost() <-chan sim.CUDAError { return o.lost }

func (o *own) Allocate(uuid string, miB uint64) error {
	return o.change(uuid, func(s *sim.State, d sim.Device, p *sim.Process) error {
		if err := s.Take(d, *p, miB); err != nil {
			return err
		}
		p.MemoryMiB += miB
		return nil
	})
}

func (o *own) Free(uuid string) error {
	return o.change(uuid, func(_ *sim.State, _ sim.Device, p *sim.Process) error { p.MemoryMiB = 0; return nil })
}

// change changes what this program has on a device.
func (o *own) change(uuid string, f func(*sim.State, sim.Device, *sim.Process) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended != "" {
		return o.ended
	}
	return o.self.Change(func(s *sim.State, e *sim.Entry) error {
		d, err := s.Device(uuid)
		if err != nil {
			return err
		}
		at := d.At(sim.Process{})
		i := slices.IndexFunc(e.Processes, func(p sim.Process) bool { return p.UUID == at.UUID && id(p.GI) == id(at.GI) && id(p.CI) == id(at.CI) })
		if i < 0 || !o.self.Has(s, e.Processes[i].Context) {
			return fmt.Errorf("there is no context on device %s: %w", uuid, sim.CUDAContextIsDestroyed)
		}
		return f(s, d, &e.Processes[i])
	})
}

// id words an instance's id.
func id(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// Fault ends this program's own contexts: without MPS nobody else has a part in them.
func (o *own) Fault() error {
	o.end(sim.CUDALaunchFailed)
	return sim.CUDALaunchFailed
}

func (o *own) Close() error { return o.self.Leave() }
