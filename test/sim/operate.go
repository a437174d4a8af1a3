// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
)

// Reboot starts the machine anew: another boot id, another driver load, no
// processes, no MIG instances, no events, compute mode and persistence at their
// defaults, and GPUs that had fallen off the bus are back. MIG mode stays on GPUs
// that need a reset to change it, where one that was pending becomes the mode,
// and goes on the others (the first by a maintainer's remark, the second unproven).
func (m *Machine) Reboot() error {
	return m.update(func(s *State) error {
		s.Boots++
		s.BootID = bootID(s.Seed, s.Boots)
		for i := range s.GPUs {
			s.GPUs[i].Lost = false
		}
		return s.load()
	})
}

// ReloadDriver unloads and loads the driver: as Reboot, but the boot id stays
// and a GPU off the bus stays off. It fails while a process is on a GPU, as
// the module is then in use.
func (m *Machine) ReloadDriver() error {
	return m.update(func(s *State) error {
		switch {
		case len(s.Processes) > 0:
			p := s.Processes[0]
			return fmt.Errorf("module nvidia is in use by process %d on GPU %s: end it first", p.PID, p.UUID)
		case len(s.Daemons) > 0:
			return fmt.Errorf("module nvidia is in use by the MPS control daemon %d: make it quit first", s.Daemons[0].PID)
		}
		return s.load()
	})
}

// load is what a fresh driver does to the state.
func (s *State) load() error {
	s.Load++
	s.endClients()
	s.Processes, s.Lingering, s.Events = nil, nil, nil
	for i := range s.GPUs {
		s.GPUs[i].attach()
		s.GPUs[i].Persistence, s.GPUs[i].TimeSlice, s.GPUs[i].Limits = false, 0, nil
	}
	return nil
}

// attach is what the driver does when it takes a GPU into use.
func (g *GPU) attach() {
	g.MIG.Pending = g.MIG.Pending && products[g.Product].MIGNeedsReset
	g.reset()
}

// LoseGPU makes a GPU fall off the bus: it is still counted, every call that
// needs it answers GPU_IS_LOST, its processes die, and the driver reports XID 79.
func (m *Machine) LoseGPU(index int) error {
	return m.update(func(s *State) error { return s.lose(index) })
}

func (s *State) lose(index int) error {
	g, err := s.at(index)
	if err != nil {
		return err
	}
	if g.Lost {
		return nil
	}
	g.Lost = true
	s.dropProcesses(g.UUID)
	s.emit(Event{UUID: g.UUID, Type: EventXID, Data: xidFellOffBus})
	return nil
}

// RestoreGPU brings a lost GPU back, as a re-scan of the bus would: without MIG
// instances, and with the MIG mode that it would have after a driver load.
func (m *Machine) RestoreGPU(index int) error {
	return m.update(func(s *State) error {
		g, err := s.at(index)
		if err != nil {
			return err
		}
		if g.Lost {
			g.Lost = false
			g.attach()
		}
		return nil
	})
}

// RemoveGPU takes a GPU out of the machine: it is not counted any more, the
// indexes behind it move up, its device node is gone. No event tells of it.
func (m *Machine) RemoveGPU(index int) error {
	return m.update(func(s *State) error {
		g, err := s.at(index)
		if err != nil {
			return err
		}
		s.dropProcesses(g.UUID)
		s.GPUs = slices.Delete(s.GPUs, index, index+1)
		return nil
	})
}

// AddGPU puts another GPU in and returns its index, which is the last. A GPU
// that was removed comes back as itself when its UUID and address are given.
func (m *Machine) AddGPU(cfg GPUConfig) (int, error) {
	index := -1
	err := m.update(func(s *State) error {
		if err := s.add(cfg); err != nil {
			return err
		}
		index = len(s.GPUs) - 1
		return nil
	})
	return index, err
}

func (s *State) add(cfg GPUConfig) error {
	g, err := newGPU(s, cfg)
	if err != nil {
		return err
	}
	s.GPUs = append(s.GPUs, g)
	s.NextOrdinal++
	return nil
}

// Reorder gives the GPUs other indexes: order[i] is the present index of the
// GPU that shall have index i. With renumberMinors each GPU's minor becomes
// its new index; otherwise the minors move with their GPUs.
func (m *Machine) Reorder(order []int, renumberMinors bool) error {
	return m.update(func(s *State) error {
		present := make([]int, len(s.GPUs))
		for i := range present {
			present[i] = i
		}
		if !slices.Equal(slices.Sorted(slices.Values(order)), present) {
			return fmt.Errorf("order %v does not name each of the %d GPUs once", order, len(s.GPUs))
		}
		gpus := make([]GPU, len(order))
		for i, o := range order {
			gpus[i] = s.GPUs[o]
			if renumberMinors {
				gpus[i].Minor = i
			}
		}
		s.GPUs = gpus
		return nil
	})
}

func (s *State) at(index int) (*GPU, error) {
	if index < 0 || index >= len(s.GPUs) {
		return nil, fmt.Errorf("there is no GPU %d: the machine has %d", index, len(s.GPUs))
	}
	return &s.GPUs[index], nil
}

func (s *State) dropProcesses(uuid string) {
	s.Processes = slices.DeleteFunc(s.Processes, func(p Process) bool { return p.UUID == uuid })
	s.Lingering = slices.DeleteFunc(s.Lingering, func(l Linger) bool { return l.UUID == uuid })
}
