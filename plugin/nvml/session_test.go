// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
	pluginnvml "github.com/cotenant-dev/cotenant/plugin/nvml"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

func TestMain(m *testing.M) { os.Exit(userns.Main(m)) }

// bench is a session with the library of a simulated machine.
type bench struct {
	*pluginnvml.Session
	t       *testing.T
	machine *sim.Machine
}

// newBench makes a machine of the products; what the session gets to see of it is
// altered by these.
func newBench(t *testing.T, cfg sim.Config, alter ...func(nvml.Interface) nvml.Interface) *bench {
	t.Helper()
	// Not t.TempDir: in a user namespace its mount points outlive the test.
	dir, err := os.MkdirTemp("", "nvml")
	ok(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m, err := sim.Create(filepath.Join(dir, "sim"), cfg)
	ok(t, err)
	source := func() (nvml.Interface, error) {
		lib := nvmlapi.New(m)
		for _, a := range alter {
			lib = a(lib)
		}
		return lib, nil
	}
	cgroup := func() string { return filepath.Join(m.Root(), "sys/fs/cgroup") }
	b := &bench{t: t, machine: m, Session: pluginnvml.New(source, filepath.Join(m.Root(), "sys"), cgroup, func() string { return "1" })}
	t.Cleanup(func() {
		b.Close()
		if err := m.Check(); err != nil {
			t.Errorf("after the test: %v", err)
		}
	})
	return b
}

// machineOf has GPUs of these products, with MIG mode on where there is a "+".
func machineOf(products ...string) sim.Config {
	cfg := sim.Config{Seed: 1}
	for _, p := range products {
		name, on := strings.CutSuffix(p, "+")
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: name, MIG: on})
	}
	return cfg
}

// gpu is the GPU of that index now.
func (b *bench) gpu(index int) sim.GPU {
	b.t.Helper()
	s, err := b.machine.State()
	ok(b.t, err)
	return s.GPUs[index]
}

// look is what one look finds; no GPU is sick.
func (b *bench) look() []sharing.Present {
	b.t.Helper()
	l, err := b.Look(b.t.Context())
	ok(b.t, err)
	if len(l.Sick) > 0 {
		b.t.Fatalf("sick: %+v", l.Sick)
	}
	return l.GPUs
}

// raw is the machine as somebody else's program sees it.
func (b *bench) raw(index int) nvml.Device {
	b.t.Helper()
	lib := nvmlapi.New(b.machine)
	if ret := lib.Init(); ret != nvml.SUCCESS {
		b.t.Fatal(ret)
	}
	dev, ret := lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		b.t.Fatal(ret)
	}
	return dev
}

func at(profile, start, size int) mig.Partition {
	return mig.Partition{Profile: profile, Placement: mig.Placement{Start: start, Size: size}}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func refused(t *testing.T, err error, reason api.Reason, says string) {
	t.Helper()
	if err == nil || api.ReasonOf(err) != reason || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v (reason %q), want reason %q and %q", err, api.ReasonOf(err), reason, says)
	}
}
