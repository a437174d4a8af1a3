// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"fmt"
	"os"
	"slices"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// join takes a client in.
func (s *server) join(c *session, j Join) error {
	switch {
	case s.ending:
		return fmt.Errorf("server %d is ending: %w", os.Getpid(), sim.CUDAConnectionFailed)
	case s.state == faulted:
		return fmt.Errorf("server %d waits for the clients of a fault to go: %w", os.Getpid(), sim.CUDAServerNotReady)
	case len(c.contexts) > 0:
		return fmt.Errorf("client %d has joined already: %w", c.pid, sim.CUDAInvalidValue)
	case !s.MultiUser && c.uid != s.UID:
		return fmt.Errorf("server %d is user %d's: %w", os.Getpid(), s.UID, sim.CUDAConnectionFailed)
	}
	c.name = j.Name
	err := s.self.Change(func(st *sim.State, e *sim.Entry) error { return s.seat(c, j, st, e) })
	if err != nil {
		c.contexts, c.devices = nil, nil
		return err
	}
	s.clients = append(s.clients, c)
	s.log.printf("New client %d connected", c.pid)
	return nil
}

// seat gives a client a context on each device that both see.
func (s *server) seat(c *session, j Join, st *sim.State, e *sim.Entry) error {
	for position, uuid := range s.Devices {
		if !slices.Contains(j.Devices, uuid) {
			continue
		}
		d, err := st.Device(uuid)
		if err != nil {
			return err
		}
		if d.ComputeMode == sim.ComputeProhibited {
			return fmt.Errorf("device %s prohibits compute: %w", uuid, sim.CUDADeviceUnavailable)
		}
		if n := len(d.On(st, sim.MPS)); n >= st.MaxMPSClients(d) {
			return fmt.Errorf("device %s has %d clients: %w", uuid, n, sim.CUDAMaxClients)
		}
		p := d.At(sim.Process{PID: c.pid, Kind: sim.MPS, Name: j.Name, Context: s.next(), Cgroups: j.Cgroups})
		e.Processes = append(e.Processes, p)
		c.contexts = append(c.contexts, p.Context)
		c.devices = append(c.devices, s.grant(c, j, position, uuid, st.Options.MPSIgnoresUUIDs))
	}
	if len(c.contexts) == 0 {
		return fmt.Errorf("the server has none of the devices %q: %w", j.Devices, sim.CUDANoDevice)
	}
	return nil
}

// grant is what a client gets of a device: the server's limits, and lower ones
// that it asked for. Without a PID to know the client by, there are none.
func (s *server) grant(c *session, j Join, position int, uuid string, ignoreUUIDs bool) Grant {
	g := Grant{UUID: uuid, ThreadPercentage: 100}
	if c.pid != 0 {
		g.ThreadPercentage = s.Settings.ThreadPercentage
		g.LimitMiB = s.Settings.limit(position, uuid, ignoreUUIDs)
	}
	if j.ThreadPercentage > 0 {
		g.ThreadPercentage = min(g.ThreadPercentage, j.ThreadPercentage)
	}
	if own := j.Limits[uuid]; own > 0 && (g.LimitMiB == 0 || own < g.LimitMiB) {
		g.LimitMiB = own
	}
	return g
}
