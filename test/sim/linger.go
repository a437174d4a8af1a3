// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"
)

// Linger is a workload that has ended and that the driver still counts: what it
// was on is IN_USE until then, with no process to be seen. Drivers do so for a
// moment, and for longer where a monitoring agent keeps a handle.
type Linger struct {
	UUID  string    `json:"uuid"`
	GI    *int      `json:"gi,omitempty"`
	CI    *int      `json:"ci,omitempty"`
	Until time.Time `json:"until"`
}

// linger notes that p has ended now.
func (s *State) linger(p Process) {
	if d := s.Options.Linger; d > 0 {
		s.Lingering = append(s.Lingering, Linger{UUID: p.UUID, GI: p.GI, CI: p.CI, Until: time.Now().Add(d)})
	}
}

// busy reports whether a workload, alive or lingering, is on the GPU; with gi on
// that GPU instance, with ci on that compute instance of it.
func (s *State) busy(g *GPU, gi, ci *int) bool {
	within := func(uuid string, pgi, pci *int) bool {
		return uuid == g.UUID && (gi == nil || same(gi, pgi)) && (ci == nil || same(ci, pci))
	}
	return slices.ContainsFunc(s.Processes, func(p Process) bool { return within(p.UUID, p.GI, p.CI) }) ||
		slices.ContainsFunc(s.Lingering, func(l Linger) bool { return within(l.UUID, l.GI, l.CI) })
}

// user words who is on a busy GPU.
func (s *State) user(g *GPU) string {
	for _, p := range s.Processes {
		if p.UUID == g.UUID {
			return fmt.Sprintf("process %d", p.PID)
		}
	}
	return "a process that has ended and lingers"
}

func same(a, b *int) bool { return a != nil && b != nil && *a == *b }
