// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
)

// SetTimeSliceCall is the name of setting a time-slice, for faults to match and in
// the log: the library has no function for it, nvidia-smi alone can.
const SetTimeSliceCall = "nvidia-smi compute-policy --set-timeslice"

// The time-slices that nvidia-smi compute-policy knows. How long each is, NVIDIA
// does not say.
const (
	TimeSliceDefault = 0
	TimeSliceLong    = 3
)

// SetTimeSlice is what nvidia-smi compute-policy --set-timeslice does to a GPU.
// It is NOT_SUPPORTED on parts without it and while MIG is on, both unproven codes.
func (s *State) SetTimeSlice(g *GPU, n int) Code {
	switch {
	case n < TimeSliceDefault || n > TimeSliceLong:
		return InvalidArgument
	case !products[g.Product].TimeSlice || g.MIG.Current:
		return NotSupported
	}
	g.TimeSlice = n
	return Success
}

// PresetTimeSlice sets the time-slice of a GPU as an admin would have.
func (m *Machine) PresetTimeSlice(index, n int) error {
	return m.update(func(s *State) error {
		g, err := s.alive(index)
		if err != nil {
			return err
		}
		if c := s.SetTimeSlice(g, n); c != Success {
			return fmt.Errorf("time-slice %d on GPU %d: %s: want 0 (default), 1 (short), 2 (medium) or 3 (long), on a part that has time-slices and with MIG off", n, index, c)
		}
		return nil
	})
}

// vacate is what the driver does when a process has left a GPU: on a machine
// created with VolatileTimeSlice, the last one takes the time-slice with it where
// persistence mode is off.
func (s *State) vacate(uuid string) {
	g := s.GPU(uuid)
	if g == nil || !s.Options.VolatileTimeSlice || g.Persistence {
		return
	}
	if !slices.ContainsFunc(s.Processes, func(p Process) bool { return p.UUID == uuid }) {
		g.TimeSlice = TimeSliceDefault
	}
}
