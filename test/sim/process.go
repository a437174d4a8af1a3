// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// AddProcess puts a process on GPU p.GPU, with MIG on on the instances p.GI and
// p.CI. One that is not Virtual must be running and visible in /proc. Kind is
// Compute unless given. A process may be on several GPUs, once on each.
func (m *Machine) AddProcess(p Process) error {
	return m.update(func(s *State) error {
		g, err := s.at(p.GPU)
		if err != nil {
			return err
		}
		p.UUID = g.UUID
		if p.Kind == "" {
			p.Kind = Compute
		}
		if slices.ContainsFunc(s.Processes, func(q Process) bool { return q.PID == p.PID && q.UUID == p.UUID }) {
			return fmt.Errorf("process %d is already on GPU %d: kill it there first", p.PID, p.GPU)
		}
		if !p.Virtual {
			start, ok := startTime(p.PID)
			if !ok {
				return fmt.Errorf("process %d is not running here: start it first, or add it as a virtual one", p.PID)
			}
			p.StartTime, p.PIDSpace = start, pidSpace()
		}
		s.Processes = append(s.Processes, p)
		return nil
	})
}

// KillProcess ends the process on all GPUs, as far as the driver is concerned.
// It sends no signal: who added a real process ends it.
func (m *Machine) KillProcess(pid int) error {
	return m.update(func(s *State) error {
		if !s.end(func(p Process) bool { return p.PID == pid }) {
			return fmt.Errorf("process %d is on no GPU: simctl show lists those that are", pid)
		}
		return nil
	})
}

// On are the processes of one GPU that are of kind.
func (s *State) On(uuid string, kind ProcessKind) []Process {
	var out []Process
	for _, p := range s.Processes {
		if p.UUID == uuid && p.Kind == kind {
			out = append(out, p)
		}
	}
	return out
}

// UsedMiB is the memory all processes of one GPU hold together.
func (s *State) UsedMiB(uuid string) uint64 {
	var sum uint64
	for _, p := range s.Processes {
		if p.UUID == uuid {
			sum += p.MemoryMiB
		}
	}
	return sum
}

// UsedByMiB is the memory the processes of one GPU instance hold together.
func (s *State) UsedByMiB(uuid string, gi int) uint64 {
	var sum uint64
	for _, p := range s.Processes {
		if p.UUID == uuid && same(p.GI, &gi) {
			sum += p.MemoryMiB
		}
	}
	return sum
}

// prune forgets the processes that have ended, as the driver does when the
// kernel closes their files, and what has lingered long enough. It reports
// whether a process is newly found to have ended.
func (s *State) prune() bool {
	s.dropLimits()
	now := time.Now()
	s.Lingering = slices.DeleteFunc(s.Lingering, func(l Linger) bool { return now.After(l.Until) })
	if len(s.Processes) == 0 {
		return false
	}
	here := pidSpace()
	return s.end(func(p Process) bool { return ended(p, here) })
}

// end takes processes off their GPUs and reports whether there were any.
func (s *State) end(which func(Process) bool) bool {
	var gone []Process
	s.Processes = slices.DeleteFunc(s.Processes, func(p Process) bool {
		if !which(p) {
			return false
		}
		gone = append(gone, p)
		return true
	})
	for _, p := range gone {
		s.linger(p)
		s.vacate(p.UUID)
	}
	return len(gone) > 0
}

// ended reports whether p is known to be gone. From another PID namespace
// nothing is known of it, so there it lives on.
func ended(p Process, here string) bool {
	if p.Virtual || p.Client != "" || p.PIDSpace != here {
		return false
	}
	start, ok := startTime(p.PID)
	return !ok || start != p.StartTime
}

// startTime is when a process started, in clock ticks after boot: field 22 of
// /proc/<pid>/stat, which with the PID identifies it. A zombie has no files
// open any more, so it does not count as running.
func startTime(pid int) (uint64, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may contain anything: count from its end.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return 0, false
	}
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	return start, err == nil
}

// pidSpace names the PID namespace of this process, "" where there is no telling.
func pidSpace() string {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return space
}
