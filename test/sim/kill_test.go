// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// TestKillAtAnyInstant has several processes operate one machine and kills
// them, one after the other, at random instants. The machine is readable after
// every kill, its invariants hold, and nothing is left lying about.
func TestKillAtAnyInstant(t *testing.T) {
	kills := 300
	if testing.Short() {
		kills = 40
	}
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "T4"}, {Product: "H100-80"}}})
	must(t, err)
	workers := make([]*exec.Cmd, 3)
	t.Cleanup(func() {
		for _, w := range workers {
			if w != nil && w.Process != nil {
				_ = w.Process.Kill() // a failed test leaves some running
			}
		}
	})
	for i := range workers {
		workers[i] = worker(t, "operate", m.Dir())
		must(t, workers[i].Start())
	}
	for k := range kills {
		// The instant is random on purpose: there is nothing to wait for.
		time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
		i := rand.IntN(len(workers))
		end(t, workers[i])
		if err := m.Check(); err != nil {
			t.Fatalf("after kill %d: %v", k+1, err)
		}
		workers[i] = worker(t, "operate", m.Dir())
		must(t, workers[i].Start())
	}
	for _, w := range workers {
		end(t, w)
	}
	must(t, m.Reboot())
	must(t, m.ClearFaults())
	must(t, m.Check())
	if s := state(t, m); s.Boots < 3 || s.NextOrdinal < 4 {
		t.Errorf("the workers did next to nothing: %d boots, %d GPUs ever", s.Boots, s.NextOrdinal)
	}
	noStrays(t, m)
}

// end kills a worker, which must have lived until now.
func end(t *testing.T, w *exec.Cmd) {
	t.Helper()
	must(t, w.Process.Kill())
	if err := w.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("a worker ended by itself: %v", err)
	}
}

// noStrays expects nothing in the directory but what the package documents.
func noStrays(t *testing.T, m *sim.Machine) {
	t.Helper()
	known := map[string]bool{"state.json": true, "lock": true, "root": true, "root.json": true, "loads": true, "calls.log": true, "clients": true}
	entries, err := os.ReadDir(m.Dir())
	must(t, err)
	for _, e := range entries {
		if !known[e.Name()] {
			t.Errorf("%s is left in the machine's directory", e.Name())
		}
	}
}

// TestCrashFaults: a fault kills the real caller before or after the effect.
func TestCrashFaults(t *testing.T) {
	for name, c := range map[string]struct {
		do   sim.Do
		mode int
	}{
		"before": {sim.Do{CrashBefore: true}, sim.ComputeDefault},
		"after":  {sim.Do{CrashAfter: true}, sim.ComputeProhibited},
	} {
		t.Run(name, func(t *testing.T) {
			m := create(t, "A30-24")
			must(t, m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetComputeMode", Exe: "*.test"}, Do: c.do}))
			err := worker(t, "crash", m.Dir()).Run()
			if err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the worker: %v, want killed", err)
			}
			if mode := state(t, m).GPUs[0].ComputeMode; mode != c.mode {
				t.Errorf("compute mode %d, want %d", mode, c.mode)
			}
		})
	}
}

// TestWithoutMknod: where device nodes cannot be made there are links that
// stat takes for devices, and the root still verifies.
func TestWithoutMknod(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	if out, err := worker(t, "drop-mknod", dir).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	node := filepath.Join(dir, "root/dev/nvidia0")
	if to, err := os.Readlink(node); err != nil || to != "/dev/null" {
		t.Errorf("%s leads to %q (%v), want /dev/null", node, to, err)
	}
	info, err := os.Stat(node)
	must(t, err)
	if info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("%s is %s", node, info.Mode())
	}
}
