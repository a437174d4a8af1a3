// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// SwitchMIG asks for a MIG mode as nvmlDeviceSetMigMode does, and answers its
// second result, whether the mode was activated:
//
//   - IN_USE while a process is on the GPU, or when MIG shall go off and GPU
//     instances are there (the latter unproven);
//   - RESET_REQUIRED on a part that changes its mode by a reset: the mode is
//     then pending until ResetGPU or a reboot;
//   - SUCCESS when the mode is as asked, at once on other parts.
//
// A fault may force another answer: with RESET_REQUIRED the mode is pending,
// with any other nothing happens.
func (s *State) SwitchMIG(g *GPU, on bool, forced *Code) Code {
	waits := products[g.Product].MIGNeedsReset
	switch {
	case forced != nil && *forced == ResetRequired:
		g.MIG.Pending = on
		return *forced
	case forced != nil:
		return *forced
	case g.MIG.Current == on:
		g.MIG.Pending = on // takes back what was pending
		return Success
	case !on && len(g.GIs) > 0:
		return InUse
	case waits:
		g.MIG.Pending = on
		if s.busy(g, nil, nil) {
			return InUse // pending all the same, as nvidia-smi then warns
		}
		return ResetRequired
	case s.busy(g, nil, nil):
		return InUse
	}
	g.MIG.Pending = on
	g.reset()
	s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
	return Success
}

// reset is what a reset does to a GPU: the pending mode becomes the mode,
// instances are gone, and compute mode, time-slice and memory limits are the
// defaults (the latter three unproven).
func (g *GPU) reset() {
	g.MIG.Current = g.MIG.Pending
	g.GIs = nil
	g.ComputeMode, g.TimeSlice, g.Limits = ComputeDefault, 0, nil
}

// ResetGPU resets a GPU, as nvidia-smi --gpu-reset. It fails while a process is
// on the GPU, and on a machine created with ResetForbidden.
func (m *Machine) ResetGPU(index int) error {
	return m.update(func(s *State) error {
		g, err := s.at(index)
		switch {
		case err != nil:
			return err
		case s.Options.ResetForbidden:
			return fmt.Errorf("GPU %d cannot be reset: the machine is one whose hypervisor forbids it: reboot it", index)
		case g.Lost:
			return fmt.Errorf("GPU %d is off the bus: restore it first", index)
		case s.busy(g, nil, nil):
			return fmt.Errorf("GPU %d is in use by %s: end it first", index, s.user(g))
		}
		g.reset()
		s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
		return nil
	})
}

// SetMIG switches the MIG mode as if it had been set and the GPU been reset,
// whatever the machine allows. It fails while a process is on the GPU, and MIG
// does not go off while instances are there.
func (m *Machine) SetMIG(index int, on bool) error {
	return m.update(func(s *State) error {
		g, err := s.at(index)
		switch {
		case err != nil:
			return err
		case !products[g.Product].MIG:
			return fmt.Errorf("GPU %d is a %s, which has no MIG", index, g.Product)
		case g.Lost:
			return fmt.Errorf("GPU %d is off the bus: restore it first", index)
		case g.MIG == MIGMode{on, on}:
			return nil
		case s.busy(g, nil, nil):
			return fmt.Errorf("GPU %d is in use by %s: end it first", index, s.user(g))
		case !on && len(g.GIs) > 0:
			return fmt.Errorf("GPU %d has %d GPU instances: destroy them first", index, len(g.GIs))
		}
		g.MIG.Pending = on
		g.reset()
		s.emit(Event{UUID: g.UUID, Type: EventMIGConfig})
		return nil
	})
}
