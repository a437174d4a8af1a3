// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"slices"
)

// Leftovers reports what a machine still has that sharing its GPUs puts there, and
// that nobody uses: settings other than the defaults, and MPS without clients. The
// error joins all of it; it is nil on a machine that was tidied up.
func (m *Machine) Leftovers() error {
	return m.view(func(s *State) error {
		var errs []error
		for i := range s.GPUs {
			errs = append(errs, s.GPUs[i].leftovers(i)...)
		}
		for _, d := range s.Daemons {
			if !slices.ContainsFunc(s.Servers, func(srv MPSServer) bool { return srv.Daemon == d.PID && s.serves(srv) }) {
				errs = append(errs, fmt.Errorf("MPS control daemon %d at %s has no clients: make it quit", d.PID, d.PipeDirectory))
			}
		}
		for _, srv := range s.Servers {
			if !s.serves(srv) {
				errs = append(errs, fmt.Errorf("MPS server %d has no clients: make its daemon quit", srv.PID))
			}
		}
		return errors.Join(errs...)
	})
}

// serves reports whether an MPS server has a client.
func (s *State) serves(srv MPSServer) bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Client == srv.Client && p.Kind == MPS })
}

func (g *GPU) leftovers(index int) []error {
	var errs []error
	if g.ComputeMode != ComputeDefault {
		errs = append(errs, fmt.Errorf("GPU %d has compute mode %s: set it to DEFAULT", index, ComputeModeName(g.ComputeMode)))
	}
	if g.TimeSlice != TimeSliceDefault {
		errs = append(errs, fmt.Errorf("GPU %d has time-slice %d: set it to 0", index, g.TimeSlice))
	}
	for _, l := range g.Limits {
		errs = append(errs, fmt.Errorf("GPU %d has a memory limit for control group %s: clear it, or remove the group", index, l.Cgroup))
	}
	for _, gi := range g.GIs {
		for _, ci := range gi.CIs {
			if ci.ComputeMode != ComputeDefault {
				errs = append(errs, fmt.Errorf("MIG device %s has compute mode %s: set it to DEFAULT", ci.UUID, ComputeModeName(ci.ComputeMode)))
			}
		}
	}
	return errs
}
