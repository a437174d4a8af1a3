// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

// Check proves the machine's invariants and that the driver root is what the
// state says. The error joins every breach.
func (m *Machine) Check() error {
	return m.view(func(s *State) error {
		return errors.Join(s.check(), fsroot.Verify(m.Root(), tree(s)))
	})
}

// check proves what must hold of every state.
func (s *State) check() error {
	var errs []error
	seen, seqs := map[string]int{}, map[uint64]bool{}
	for i, g := range s.GPUs {
		errs = append(errs, g.check(s.NextOrdinal))
		for _, key := range []string{
			"UUID " + g.UUID, "PCI address " + g.PCI,
			fmt.Sprintf("minor %d", g.Minor), fmt.Sprintf("ordinal %d", g.Ordinal),
		} {
			if j, ok := seen[key]; ok {
				errs = append(errs, fmt.Errorf("GPUs %d and %d have one %s: give one of them another", j, i, key))
			}
			seen[key] = i
		}
		errs = append(errs, s.checkSeqs(g, seqs))
	}
	errs = append(errs, s.checkProcesses(), s.checkEvents())
	return errors.Join(errs...)
}

func (g GPU) check(nextOrdinal int) error {
	p, err := LookupProduct(g.Product)
	if err != nil {
		return err
	}
	switch {
	case !uuidForm.MatchString(g.UUID):
		return fmt.Errorf("GPU UUID %q is not of the form GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", g.UUID)
	case !pciForm.MatchString(g.PCI):
		return fmt.Errorf("PCI address %q is not of the form 0000:65:01.0", g.PCI)
	case !rootForm.MatchString(g.PCIeRoot):
		return fmt.Errorf("PCIe root %q is not of the form pci0000:64", g.PCIeRoot)
	case g.Minor < 0 || g.Minor >= minorModeset:
		return fmt.Errorf("GPU %s: minor %d is outside 0..%d", g.UUID, g.Minor, minorModeset-1)
	case g.NUMA < -1:
		return fmt.Errorf("GPU %s: NUMA node %d is below -1", g.UUID, g.NUMA)
	case g.Ordinal < 0 || g.Ordinal >= nextOrdinal:
		return fmt.Errorf("GPU %s: ordinal %d is not below the next, %d", g.UUID, g.Ordinal, nextOrdinal)
	case g.TimeSlice < TimeSliceDefault || g.TimeSlice > TimeSliceLong || g.TimeSlice != TimeSliceDefault && (!p.TimeSlice || g.MIG.Current):
		return fmt.Errorf("GPU %s: time-slice %d does not exist, or not on a %s with MIG %t", g.UUID, g.TimeSlice, g.Product, g.MIG.Current)
	case len(g.Limits) > 0 && g.MIG.Current:
		return fmt.Errorf("GPU %s has memory limits of control groups with MIG on", g.UUID)
	case !validComputeMode(g.ComputeMode):
		return fmt.Errorf("GPU %s: compute mode %d does not exist", g.UUID, g.ComputeMode)
	case !p.MIG && g.MIG != MIGMode{}:
		return fmt.Errorf("GPU %s: MIG mode %+v on a %s, which has none", g.UUID, g.MIG, g.Product)
	}
	return g.checkInstances(p)
}

func validComputeMode(mode int) bool {
	return mode == ComputeDefault || mode == ComputeProhibited || mode == ComputeExclusiveProcess
}

func (s *State) checkProcesses() error {
	for _, p := range s.Processes {
		g := s.GPU(p.UUID)
		if g == nil {
			return fmt.Errorf("process %d is on GPU %s, which is not in the machine", p.PID, p.UUID)
		}
		if err := s.checkProcess(p, g); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) checkProcess(p Process, g *GPU) error {
	switch {
	case g.Lost:
		return fmt.Errorf("process %d is on GPU %s, which is off the bus: restore it first", p.PID, p.UUID)
	case p.PID < 0 || p.PID == 0 && p.Client == "":
		return fmt.Errorf("process id %d is not positive", p.PID)
	case p.Kind != Compute && p.Kind != Graphics && p.Kind != MPS:
		return fmt.Errorf("process %d: kind %q is none of C, G and M", p.PID, p.Kind)
	case s.overfull(g):
		return fmt.Errorf("the processes of GPU %s hold %d MiB, more than it has", g.UUID, s.UsedMiB(g.UUID))
	}
	return s.checkPartition(p, g)
}

func (s *State) overfull(g *GPU) bool {
	p, err := LookupProduct(g.Product)
	return err == nil && p.MemoryQuery && s.UsedMiB(g.UUID)+p.ReservedMiB > p.MemoryMiB
}

func (s *State) checkEvents() error {
	last := uint64(0)
	for _, e := range s.Events {
		if e.Seq <= last || e.Seq > s.EventSeq {
			return fmt.Errorf("event %d is out of order: after %d, newest %d", e.Seq, last, s.EventSeq)
		}
		last = e.Seq
	}
	return nil
}
