// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package timeslice_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/plugin/timeslice"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

const set = sim.SetTimeSliceCall

// machine is a simulated one with nvidia-smi, and the intervals of its driver.
type machine struct {
	*timeslice.Intervals
	*sim.Machine
	t    *testing.T
	load string
}

func newMachine(t *testing.T, gpus ...sim.GPUConfig) *machine {
	t.Helper()
	bin := t.TempDir()
	if err := programs.Build(bin, programs.SMI); err != nil {
		t.Fatal(err)
	}
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{Seed: 1, Bin: bin, GPUs: gpus})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COTENANT_SIM_STATE", m.Dir())
	t.Setenv("COTENANT_SIM_DEV", filepath.Join(m.Root(), "dev"))
	out := &machine{Machine: m, t: t, load: "1"}
	out.Intervals = timeslice.New(m.Root(), func() string { return out.load })
	return out
}

func (m *machine) gpu(i int) sim.GPU {
	m.t.Helper()
	s, err := m.State()
	if err != nil {
		m.t.Fatal(err)
	}
	return s.GPUs[i]
}

// is checks an interval as the machine has it and as it is read.
func (m *machine) is(i int, want nvidia.Interval) {
	m.t.Helper()
	if got := m.gpu(i).TimeSlice; got != want.Level() {
		m.t.Errorf("GPU %d has %d, want %d", i, got, want.Level())
	}
	if got, err := m.Interval(m.t.Context(), m.gpu(i).UUID); err != nil || got != want {
		m.t.Errorf("of GPU %d it reads %q, %v; want %q", i, got, err, want)
	}
}

// Every interval is set on the one GPU that is named, and read back.
func TestIntervalsOfAMachine(t *testing.T) {
	m := newMachine(t, sim.GPUConfig{Product: "H100-80"}, sim.GPUConfig{Product: "H100-80"})
	for _, i := range []nvidia.Interval{nvidia.Long, nvidia.Short, nvidia.Medium, nvidia.Default} {
		if err := m.SetInterval(t.Context(), m.gpu(1).UUID, i); err != nil {
			t.Fatal(err)
		}
		m.is(1, i)
		m.is(0, nvidia.Default)
	}
	if got := m.Calls(set); got != 4 {
		t.Errorf("set %d times, want 4", got)
	}
}

// A GPU that has none, one that has none as long as it is partitioned, one that is
// lost and one that nobody knows.
func TestNoInterval(t *testing.T) {
	m := newMachine(t, sim.GPUConfig{Product: "P4"}, sim.GPUConfig{Product: "H100-80", MIG: true}, sim.GPUConfig{Product: "H100-80"})
	for i := range 2 {
		uuid := m.gpu(i).UUID
		if _, err := m.Interval(t.Context(), uuid); api.ReasonOf(err) != api.Unsupported {
			t.Errorf("GPU %d is read: %v", i, err)
		}
		if err := m.SetInterval(t.Context(), uuid, nvidia.Long); api.ReasonOf(err) != api.Unsupported || !strings.Contains(err.Error(), "Not Supported") {
			t.Errorf("GPU %d is set: %v", i, err)
		}
		if err := m.Supports(t.Context(), uuid); api.ReasonOf(err) != api.Unsupported {
			t.Errorf("GPU %d supports it: %v", i, err)
		}
	}
	lost := m.gpu(2).UUID
	if err := m.LoseGPU(2); err != nil {
		t.Fatal(err)
	}
	for _, uuid := range []string{lost, "GPU-00000000-0000-0000-0000-000000000000"} {
		_, err := m.Interval(t.Context(), uuid)
		if err == nil || api.ReasonOf(err) == api.Unsupported {
			t.Errorf("%s is read: %v", uuid, err)
		}
		err = m.SetInterval(t.Context(), uuid, nvidia.Long)
		if err == nil || api.ReasonOf(err) == api.Unsupported {
			t.Errorf("%s is set: %v", uuid, err)
		}
	}
}

// Of many who set one interval at once one runs the program, and after a reload of the
// driver one more.
func TestManyAtOnce(t *testing.T) {
	m := newMachine(t, sim.GPUConfig{Product: "H100-80"})
	uuid := m.gpu(0).UUID
	m.setAtOnce(uuid)
	if got := m.Calls(set); got != 1 {
		t.Errorf("set %d times, want 1", got)
	}
	if err := m.ReloadDriver(); err != nil {
		t.Fatal(err)
	}
	m.load = "2"
	m.setAtOnce(uuid)
	if got := m.Calls(set); got != 2 {
		t.Errorf("after a reload: set %d times, want 2", got)
	}
	m.is(0, nvidia.Long)
}

func (m *machine) setAtOnce(uuid string) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := m.SetInterval(m.t.Context(), uuid, nvidia.Long); err != nil {
				m.t.Error(err)
			}
		})
	}
	all.Wait()
}

// A GPU that holds nvidia-smi up holds up nobody for longer than he waits, and no
// other GPU.
func TestHangingProgram(t *testing.T) {
	m := newMachine(t, sim.GPUConfig{Product: "H100-80"}, sim.GPUConfig{Product: "H100-80"})
	if err := m.Inject(sim.Fault{ID: "hang", Match: sim.Match{Call: set, GPU: new(0)}, Do: sim.Do{Hang: true}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	held := make(chan error)
	go func() { held <- m.SetInterval(ctx, m.gpu(0).UUID, nvidia.Long) }()
	if err := m.SetInterval(t.Context(), m.gpu(1).UUID, nvidia.Long); err != nil {
		t.Error(err)
	}
	if err := <-held; err == nil {
		t.Error("a program that hangs has set the interval")
	}
	if err := m.ClearFaults(); err != nil {
		t.Fatal(err)
	}
	// What it did is not known: it is done again.
	if err := m.SetInterval(t.Context(), m.gpu(0).UUID, nvidia.Long); err != nil {
		t.Error(err)
	}
	m.is(0, nvidia.Long)
	m.is(1, nvidia.Long)
}
