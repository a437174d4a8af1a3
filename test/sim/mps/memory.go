// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"fmt"
	"slices"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// allocate gives a client more memory of a device.
func (s *server) allocate(c *session, a ask) error {
	return s.holdIn(c, a.UUID, func(st *sim.State, d sim.Device, limit uint64, p *sim.Process) error {
		if limit > 0 && p.MemoryMiB+a.MiB > limit {
			return fmt.Errorf("%d MiB on top of %d on device %s, the limit is %d: %w", a.MiB, p.MemoryMiB, a.UUID, limit, sim.CUDAOutOfMemory)
		}
		if err := st.Take(d, *p, a.MiB); err != nil {
			return err
		}
		p.MemoryMiB += a.MiB
		return nil
	})
}

func (s *server) hold(c *session, uuid string, f func(*sim.Process) error) error {
	return s.holdIn(c, uuid, func(_ *sim.State, _ sim.Device, _ uint64, p *sim.Process) error { return f(p) })
}

// holdIn changes what a client has on a device.
func (s *server) holdIn(c *session, uuid string, f func(*sim.State, sim.Device, uint64, *sim.Process) error) error {
	at := slices.IndexFunc(c.devices, func(g Grant) bool { return g.UUID == uuid })
	if at < 0 {
		return fmt.Errorf("device %s is none of the client's: %w", uuid, sim.CUDANoDevice)
	}
	return s.self.Change(func(st *sim.State, e *sim.Entry) error {
		d, err := st.Device(uuid)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(e.Processes, func(p sim.Process) bool { return p.Context == c.contexts[at] })
		if i < 0 || !s.self.Has(st, c.contexts[at]) {
			return sim.CUDAClientTerminated
		}
		return f(st, d, c.devices[at].LimitMiB, &e.Processes[i])
	})
}
