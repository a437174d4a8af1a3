// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// create lays a machine of the given products and checks it when the test ends.
func create(t *testing.T, products ...string) *sim.Machine {
	t.Helper()
	var cfg sim.Config
	for _, p := range products {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p})
	}
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Check(); err != nil {
			t.Errorf("after the test: %v", err)
		}
	})
	return m
}

func state(t *testing.T, m *sim.Machine) sim.State {
	t.Helper()
	s, err := m.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDefaultsAreTheSameEachTime(t *testing.T) {
	a, b := state(t, create(t, "A30-24", "H100-80")), state(t, create(t, "A30-24", "H100-80"))
	if diff := cmp.Diff(a.GPUs, b.GPUs); diff != "" {
		t.Errorf("two machines of one configuration differ: %s", diff)
	}
	g := a.GPUs[0]
	if g.PCI != "0000:65:01.0" || g.PCIeRoot != "pci0000:64" || g.Minor != 0 || g.NUMA != 0 {
		t.Errorf("the walkthrough's GPU is %+v", g)
	}
	if h := a.GPUs[1]; h.ModuleID != 2 || h.PCI == g.PCI || h.UUID == g.UUID {
		t.Errorf("the second GPU is %+v", h)
	}
	other, err := sim.Create(t.TempDir(), sim.Config{Seed: 7, GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
	must(t, err)
	if o := state(t, other); o.GPUs[0].UUID == g.UUID || o.BootID == a.BootID {
		t.Errorf("a machine of another seed has the same UUID %s or boot id %s", o.GPUs[0].UUID, o.BootID)
	}
}

func TestCreateRefuses(t *testing.T) {
	full := t.TempDir()
	must(t, os.WriteFile(filepath.Join(full, "mine"), nil, 0o600))
	for name, c := range map[string]struct {
		dir string
		cfg sim.Config
		say string
	}{
		"a directory in use":   {full, sim.Config{}, "not empty"},
		"an unknown product":   {t.TempDir(), sim.Config{GPUs: []sim.GPUConfig{{Product: "A31"}}}, "A30-24"},
		"a bad driver version": {t.TempDir(), sim.Config{Driver: "five"}, "535.129.03"},
		"a bad address":        {t.TempDir(), sim.Config{GPUs: []sim.GPUConfig{{Product: "T4", PCI: "65:01.0"}}}, "0000:65:01.0"},
		"a bad UUID":           {t.TempDir(), sim.Config{GPUs: []sim.GPUConfig{{Product: "T4", UUID: "GPU-1"}}}, "GPU-xxxxxxxx"},
		"one minor twice":      {t.TempDir(), sim.Config{GPUs: []sim.GPUConfig{{Product: "T4", Minor: new(1)}, {Product: "T4", Minor: new(1)}}}, "minor 1"},
		"an empty bin":         {t.TempDir(), sim.Config{Bin: t.TempDir()}, "nvidia-smi"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := sim.Create(c.dir, c.cfg); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want one that says %q", err, c.say)
			}
		})
	}
	if _, err := sim.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "simctl create") {
		t.Errorf("opening nothing: %v, want what to do", err)
	}
}

func TestHandlesAreOneMachine(t *testing.T) {
	m := create(t, "T4")
	other, err := sim.Open(m.Dir())
	must(t, err)
	must(t, m.LoseGPU(0))
	if !state(t, other).GPUs[0].Lost {
		t.Error("the other handle does not see the loss")
	}
}

func TestRebootAndReload(t *testing.T) {
	m := create(t, "A30-24")
	ids := func() (boot string, load uint64) {
		b, err := os.ReadFile(filepath.Join(m.Root(), "proc/sys/kernel/random/boot_id"))
		must(t, err)
		info, err := os.Stat(filepath.Join(m.Root(), "sys/module/nvidia"))
		must(t, err)
		return string(b), info.Sys().(*syscall.Stat_t).Ino
	}
	seen := map[uint64]string{}
	boot, load := ids()
	for i, op := range []func() error{m.ReloadDriver, m.ReloadDriver, m.Reboot, m.ReloadDriver, m.Reboot} {
		seen[load] = boot
		wasBoot := boot
		must(t, op())
		boot, load = ids()
		if _, again := seen[load]; again {
			t.Errorf("operation %d: the inode of an earlier driver load came back", i)
		}
		if reboot := i == 2 || i == 4; (boot != wasBoot) != reboot {
			t.Errorf("operation %d: boot id %q after %q", i, boot, wasBoot)
		}
	}
}

func TestReloadNeedsAnIdleDriver(t *testing.T) {
	m := create(t, "A30-24")
	must(t, m.AddProcess(sim.Process{PID: 77, Virtual: true}))
	if err := m.ReloadDriver(); err == nil || !strings.Contains(err.Error(), "process 77") {
		t.Errorf("reload under a process: %v", err)
	}
	must(t, m.Reboot())
	if n := len(state(t, m).Processes); n != 0 {
		t.Errorf("%d processes survive a reboot", n)
	}
	must(t, m.ReloadDriver())
}

func TestAddRemoveReorder(t *testing.T) {
	m := create(t, "A30-24", "T4", "P4")
	must(t, m.RemoveGPU(1))
	i, err := m.AddGPU(sim.GPUConfig{Product: "L40S"})
	must(t, err)
	s := state(t, m)
	if i != 2 || s.GPUs[2].Minor != 1 || s.GPUs[2].Ordinal != 3 {
		t.Errorf("the new GPU has index %d and is %+v, want index 2, minor 1, ordinal 3", i, s.GPUs[2])
	}
	must(t, m.Reorder([]int{2, 0, 1}, false))
	if got := state(t, m); got.GPUs[0].UUID != s.GPUs[2].UUID || got.GPUs[0].Minor != 1 {
		t.Errorf("after the reorder GPU 0 is %+v", got.GPUs[0])
	}
	must(t, m.Reorder([]int{0, 1, 2}, true))
	for i, g := range state(t, m).GPUs {
		if g.Minor != i {
			t.Errorf("GPU %d has minor %d", i, g.Minor)
		}
	}
	for _, bad := range [][]int{nil, {0, 1}, {0, 1, 1}, {0, 1, 3}} {
		if err := m.Reorder(bad, false); err == nil {
			t.Errorf("order %v was taken", bad)
		}
	}
	if err := m.LoseGPU(3); err == nil || !strings.Contains(err.Error(), "has 3") {
		t.Errorf("losing GPU 3 of 3: %v", err)
	}
}
