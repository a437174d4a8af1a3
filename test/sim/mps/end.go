// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"os"
	"slices"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// part lets a client go. When the last has gone after a fault, the server takes
// clients again.
func (s *server) part(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.clients, c)
	if at < 0 {
		return
	}
	s.clients = slices.Delete(s.clients, at, at+1)
	s.log.printf("Client %d disconnected", c.pid)
	s.release(c)
	if len(s.clients) == 0 && s.state == faulted {
		s.state = active
	}
	s.finishIfIdle()
}

// release ends the contexts of a client.
func (s *server) release(c *session) {
	err := s.self.Change(func(_ *sim.State, e *sim.Entry) error {
		e.Processes = slices.DeleteFunc(e.Processes, func(p sim.Process) bool { return slices.Contains(c.contexts, p.Context) })
		return nil
	})
	if err != nil {
		s.log.printf("releasing what client %d had: %v", c.pid, err)
		os.Exit(1)
	}
}

// terminate ends the contexts of a client and tells it.
func (s *server) terminate(c *session) {
	s.log.printf("Client %d is terminated", c.pid)
	s.release(c)
	c.lose(sim.CUDAClientTerminated)
}

// fault ends all clients, and none is told whose fault it was.
func (s *server) fault(by string) {
	s.log.printf("Fatal fault of %s: all clients are ended", by)
	if len(s.clients) > 0 {
		s.state = faulted
	}
	for _, c := range s.clients {
		c.lose(sim.CUDALaunchFailed)
	}
}

// lose tells a client that its contexts are gone. What it had stays until it goes.
func (c *session) lose(err sim.CUDAError) {
	if c.lost != "" {
		return
	}
	c.lost = err
	go func() { _ = c.w.send(told{Lost: err}) }() // one that does not read holds nobody up
}
