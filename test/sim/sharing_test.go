// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// made lays a machine of that configuration and checks it when the test ends.
func made(t *testing.T, cfg sim.Config) *sim.Machine {
	t.Helper()
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), cfg)
	must(t, err)
	t.Cleanup(func() { must(t, m.Check()) })
	return m
}

func TestTimeSliceRules(t *testing.T) {
	m := create(t, "A30-24", "P4", "H100-80")
	must(t, m.PresetTimeSlice(0, 2))
	must(t, m.PresetTimeSlice(2, 3))
	if err := m.PresetTimeSlice(1, 1); err == nil || !strings.Contains(err.Error(), "NOT_SUPPORTED") {
		t.Errorf("on a P4: %v", err)
	}
	if err := m.PresetTimeSlice(0, 4); err == nil || !strings.Contains(err.Error(), "INVALID_ARGUMENT") {
		t.Errorf("4: %v", err)
	}
	must(t, m.SetMIG(2, true))
	if err := m.PresetTimeSlice(2, 1); err == nil || !strings.Contains(err.Error(), "NOT_SUPPORTED") {
		t.Errorf("with MIG on: %v", err)
	}
	if s := state(t, m); s.GPUs[0].TimeSlice != 2 || s.GPUs[2].TimeSlice != 0 {
		t.Errorf("time-slices %d and %d, want 2, and 0 after the switch to MIG", s.GPUs[0].TimeSlice, s.GPUs[2].TimeSlice)
	}
	must(t, m.ReloadDriver())
	if s := state(t, m); s.GPUs[0].TimeSlice != 0 {
		t.Errorf("time-slice %d after a driver reload, want 0", s.GPUs[0].TimeSlice)
	}
}

// TestVolatileTimeSlice: on such a machine it goes with the last process, however
// that ends, unless persistence mode is on.
func TestVolatileTimeSlice(t *testing.T) {
	m := made(t, sim.Config{VolatileTimeSlice: true, GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
	slice := func() int { return state(t, m).GPUs[0].TimeSlice }
	must(t, m.PresetTimeSlice(0, 2))
	must(t, m.AddProcess(sim.Process{PID: 7, Virtual: true}))
	cmd, _ := client(t, m, "client", nil)
	must(t, m.KillProcess(7))
	if slice() != 2 {
		t.Errorf("time-slice %d while a process is left, want 2", slice())
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if slice() != 0 {
		t.Errorf("time-slice %d after the last process, want 0", slice())
	}
	m.Change(sim.Call{Name: "nvmlDeviceSetPersistenceMode"}, func(s *sim.State) sim.Code { s.GPUs[0].Persistence = true; return sim.Success })
	must(t, m.PresetTimeSlice(0, 1))
	must(t, m.AddProcess(sim.Process{PID: 8, Virtual: true}))
	must(t, m.KillProcess(8))
	if slice() != 1 {
		t.Errorf("time-slice %d with persistence mode on, want 1", slice())
	}
}

// cgroup makes what looks like a control group of version 2.
func cgroup(t *testing.T) (dir string, inode uint64) {
	t.Helper()
	dir = t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("dmem\n"), 0o600))
	inode, ok := sim.CgroupInode(dir)
	if !ok {
		t.Fatalf("%s is no control group", dir)
	}
	return dir, inode
}

func limit(m *sim.Machine, dir string, softMiB, hardMiB uint64) sim.Code {
	hard := hardMiB << 20
	if hardMiB == 0 {
		hard = sim.NoMemoryLimit
	}
	return m.Change(sim.Call{Name: "nvmlDeviceSetMemoryLimits_v1"}, func(s *sim.State) sim.Code {
		return s.LimitMemory(&s.GPUs[0], dir, softMiB<<20, hard)
	})
}

func TestMemoryLimitCodes(t *testing.T) {
	m := create(t, "H100-80")
	dir, _ := cgroup(t)
	for name, c := range map[string]struct {
		dir        string
		soft, hard uint64
		want       sim.Code
	}{
		"a limit":                  {dir, 0, 1024, sim.Success},
		"all of the memory":        {dir, 81559, 81559, sim.Success},
		"more than there is":       {dir, 0, 81560, sim.InvalidArgument},
		"soft above hard":          {dir, 2, 1, sim.InvalidArgument},
		"no such group":            {dir + "/none", 0, 1, sim.OperatingSystem},
		"a directory of version 1": {t.TempDir(), 0, 1, sim.OperatingSystem},
	} {
		if got := limit(m, c.dir, c.soft, c.hard); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if n := len(state(t, m).GPUs[0].Limits); n != 1 {
		t.Errorf("%d limits of one group", n)
	}
	if limit(m, dir, 0, 0) != sim.Success || len(state(t, m).GPUs[0].Limits) != 0 {
		t.Error("no limit does not clear the limit")
	}
	must(t, m.SetMIG(0, true))
	if got := limit(m, dir, 0, 1); got != sim.NotSupported {
		t.Errorf("with MIG on: %s", got)
	}
}

// TestMemoryLimitsHold: what a group may have at most, and what it is sure of.
func TestMemoryLimitsHold(t *testing.T) {
	m := create(t, "A30-24")
	mine, inode := cgroup(t)
	c, err := m.Enter()
	must(t, err)
	defer c.Leave()
	take := func(miB uint64, groups ...uint64) error {
		return c.Change(func(s *sim.State, e *sim.Entry) error {
			d, err := s.Device(s.GPUs[0].UUID)
			must(t, err)
			p := d.At(sim.Process{PID: os.Getpid(), Kind: sim.Compute, Context: len(e.Processes) + 1, MemoryMiB: miB, Cgroups: groups})
			e.Processes = append(e.Processes, p)
			return s.Take(d, p, miB)
		})
	}
	refused := func(err error) bool { return errors.Is(err, sim.CUDAOutOfMemory) }
	if limit(m, mine, 2048, 4096) != sim.Success {
		t.Fatal("no limit was set")
	}
	must(t, take(3000, inode))
	if err := take(2000, inode); !refused(err) {
		t.Errorf("5000 MiB with a hard limit of 4096: %v", err)
	}
	must(t, take(1096, inode))
	s := state(t, m)
	if l, used, code := s.MemoryLimits(&s.GPUs[0], mine); code != sim.Success || l.Hard != 4096<<20 || l.Soft != 2048<<20 || used != 4096<<20 {
		t.Errorf("limits %+v, used %d (%s)", l, used, code)
	}
	must(t, c.Change(func(_ *sim.State, e *sim.Entry) error { e.Processes = nil; return nil }))
	free := uint64(24576 - 512)
	if p, err := sim.LookupProduct("A30-24"); err == nil {
		free = p.MemoryMiB - p.ReservedMiB
	}
	if err := take(free-2047, 1); !refused(err) {
		t.Errorf("a stranger took what a group is sure of: %v", err)
	}
	must(t, take(free-2048, 1))
	must(t, take(2048, inode))
	must(t, os.RemoveAll(mine))
	if n := len(state(t, m).GPUs[0].Limits); n != 0 {
		t.Errorf("%d limits are left of a group that was removed", n)
	}
}

// TestComputeModes: who may open a context.
func TestComputeModes(t *testing.T) {
	m := create(t, "A30-24")
	a, err := m.Enter()
	must(t, err)
	b, err := m.Enter()
	must(t, err)
	must(t, a.Change(onFirst(a)))
	must(t, m.PresetComputeMode(0, sim.ComputeExclusiveProcess))
	if err := b.Change(onFirst(b)); !errors.Is(err, sim.CUDADeviceUnavailable) {
		t.Errorf("a second process in exclusive mode: %v", err)
	}
	must(t, a.Leave())
	must(t, b.Change(onFirst(b)))
	must(t, m.PresetComputeMode(0, sim.ComputeProhibited))
	if err := b.Change(onFirst(b)); !errors.Is(err, sim.CUDADeviceUnavailable) {
		t.Errorf("in prohibited mode: %v", err)
	}
	must(t, b.Leave())
	if err := m.PresetComputeMode(0, 1); err == nil {
		t.Error("the mode that is gone was taken")
	}
}

func TestLeftovers(t *testing.T) {
	dir, _ := cgroup(t)
	for name, c := range map[string]struct {
		leave func(*testing.T, *sim.Machine) error
		say   string
	}{
		"nothing":      {func(*testing.T, *sim.Machine) error { return nil }, ""},
		"a mode":       {func(_ *testing.T, m *sim.Machine) error { return m.PresetComputeMode(0, sim.ComputeExclusiveProcess) }, "EXCLUSIVE_PROCESS"},
		"a time-slice": {func(_ *testing.T, m *sim.Machine) error { return m.PresetTimeSlice(0, 1) }, "time-slice 1"},
		"a limit":      {func(_ *testing.T, m *sim.Machine) error { limit(m, dir, 0, 1); return nil }, dir},
		"a MPS daemon": {func(t *testing.T, m *sim.Machine) error { return enter(t, m, sim.Entry{Daemon: &sim.MPSDaemon{}}) }, "daemon"},
		"a MPS server": {func(t *testing.T, m *sim.Machine) error { return enter(t, m, sim.Entry{Server: &sim.MPSServer{}}) }, "server"},
		"a MIG device's": {func(_ *testing.T, m *sim.Machine) error {
			err := errors.Join(m.SetMIG(0, true), m.CreateInstance(0, 9, 0, true))
			m.Change(sim.Call{Name: "nvmlDeviceSetComputeMode"}, func(s *sim.State) sim.Code {
				s.GPUs[0].GIs[0].CIs[0].ComputeMode = sim.ComputeExclusiveProcess
				return sim.Success
			})
			return err
		}, "MIG-"},
	} {
		t.Run(name, func(t *testing.T) {
			m := create(t, "H100-80")
			must(t, c.leave(t, m))
			err := m.Leftovers()
			if (err == nil) != (c.say == "") || err != nil && !strings.Contains(err.Error(), c.say) {
				t.Errorf("leftovers: %v, want %q", err, c.say)
			}
		})
	}
}

// enter is a client with that entry until the test ends.
func enter(t *testing.T, m *sim.Machine, e sim.Entry) error {
	c, err := m.Enter()
	if err != nil {
		return err
	}
	t.Cleanup(func() { must(t, c.Leave()) })
	return c.Change(func(_ *sim.State, mine *sim.Entry) error {
		e.PID = mine.PID
		*mine = e
		return nil
	})
}
