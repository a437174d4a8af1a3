// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/test/hardware"
	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// newest has every function of the library.
const newest = "615.10"

// machine plays the hardware.
func machine(t *testing.T, c sim.Config) *sim.Machine {
	t.Helper()
	if c.Driver == "" {
		c.Driver = newest
	}
	// Not the seed of the twin: two machines have other UUIDs.
	c.Seed = 7
	m, err := sim.Create(filepath.Join(t.TempDir(), "hardware"), c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gpus(mig bool, products ...string) sim.Config {
	var c sim.Config
	for _, p := range products {
		c.GPUs = append(c.GPUs, sim.GPUConfig{Product: p, MIG: mig})
	}
	return c
}

func options(t *testing.T) hardware.Options {
	return hardware.Options{Scratch: t.TempDir(), Out: t.TempDir(), Known: sim.Products()}
}

func compare(t *testing.T, lib nvml.Interface, o hardware.Options) hardware.Report {
	t.Helper()
	r, err := hardware.Compare(readonly.New(lib), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func root(m *sim.Machine) nvml.Interface { return nvmlapi.New(m, nvmlapi.AsUser(0)) }

func TestTheSimulatorIsAsTheSimulator(t *testing.T) {
	for name, c := range map[string]sim.Config{
		"every product":                gpus(false, sim.Products()...),
		"partitioned":                  gpus(true, "A30-24", "A100-40", "A100-80", "H100-80", "H100-NVL-94", "H200-141", "GH200-96", "B200-180", "GB200-186", "RTX-PRO-6000"),
		"the walkthrough's old driver": {Driver: "535.129.03", GPUs: gpus(false, "A30-24", "T4").GPUs},
		"somebody else's UUIDs":        {UUIDs: sim.UUIDsFresh, GPUs: gpus(true, "H100-80").GPUs},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, c)
			partition(t, m)
			before, err := m.State()
			if err != nil {
				t.Fatal(err)
			}
			r := compare(t, root(m), options(t))
			if len(r.GPUs) != len(c.GPUs) {
				t.Errorf("%d GPUs were compared, not %d", len(r.GPUs), len(c.GPUs))
			}
			for i, g := range r.GPUs {
				if g.Product != c.GPUs[i].Product || len(g.Differences)+len(g.Open) > 0 || g.Questions < 60 {
					t.Errorf("GPU %d, %s against %s, %d questions: differences %q, open %q", i, c.GPUs[i].Product, g.Product, g.Questions, g.Differences, g.Open)
				}
			}
			unchanged(t, m, before)
		})
	}
}

// partition makes an instance of the largest but one profile and an empty one of
// the smallest on each GPU that is in MIG mode.
func partition(t *testing.T, m *sim.Machine) {
	t.Helper()
	s, err := m.State()
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range s.GPUs {
		if !g.MIG.Current {
			continue
		}
		p, err := sim.LookupProduct(g.Product)
		if err != nil {
			t.Fatal(err)
		}
		half, _ := p.Profile(nvml.GPU_INSTANCE_PROFILE_2_SLICE)
		if err := m.CreateInstance(i, half.ID, half.Starts[0], true); err != nil {
			t.Fatal(err)
		}
		small, _ := p.Profile(nvml.GPU_INSTANCE_PROFILE_1_SLICE)
		if err := m.CreateInstance(i, small.ID, small.Starts[len(small.Starts)-1], false); err != nil {
			t.Fatal(err)
		}
	}
}

// unchanged proves that nothing was called which may change the machine, and that
// nothing did.
func unchanged(t *testing.T, m *sim.Machine, before sim.State) {
	t.Helper()
	calls, err := m.CallLog()
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) > 0 {
		t.Errorf("the machine was told to change: %+v", calls)
	}
	after, err := m.State()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the machine changed:\n%s", diff)
	}
}

func TestADifferenceIsFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine sim.Config
		doctor  doctor
		want    []string
	}{
		{"multiprocessors of a profile", gpus(false, "H100-80"), doctor{profile: func(i int, p *nvml.GpuInstanceProfileInfo) {
			if i == 0 {
				p.MultiprocessorCount = 18
			}
		}}, []string{"MIG profile 0, multiprocessors: simulator says 16, hardware says 18"}},
		{"memory of a profile, and so its name", gpus(false, "H100-80"), doctor{profile: func(i int, p *nvml.GpuInstanceProfileInfo) {
			if i == 9 {
				p.MemorySizeMB = 22000
			}
		}}, []string{
			"MIG profile 9, name: simulator says 1g.20gb, hardware says 1g.30gb",
			"MIG profile 9, memory, MiB: simulator says 20096, hardware says 22000",
		}},
		{"a placement less", gpus(false, "A30-24"), doctor{places: func(id uint32, p []nvml.GpuInstancePlacement) []nvml.GpuInstancePlacement {
			if id == 5 {
				return p[1:]
			}
			return p
		}}, []string{"MIG profile 1, placements: simulator says [0 2] of size 2, hardware says [2] of size 2"}},
		{"another spelling of the UUID", gpus(false, "T4"), doctor{uuid: strings.ToUpper}, []string{
			"form of the UUID: simulator says GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, hardware says GPU-",
			"its UUID leads to it: simulator says true, hardware says ERROR_NOT_FOUND",
		}},
		{"a function that is not there", gpus(false, "T4"), doctor{lacks: "nvmlDeviceGetAddressingMode"}, []string{
			"function nvmlDeviceGetAddressingMode: simulator says true, hardware says false",
			"addressing mode: simulator says ERROR_NOT_SUPPORTED, hardware says there is no nvmlDeviceGetAddressingMode",
		}},
		{"ids of instances in another order", sim.Config{IDs: sim.IDsRandom, GPUs: gpus(true, "H100-80").GPUs}, doctor{}, []string{
			"GPU instance of profile id 14 at 0, id: simulator says 3, hardware says ",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine(t, c.machine)
			partition(t, m)
			r := compare(t, doctored{root(m), c.doctor}, options(t))
			if r.OK() {
				t.Error("the report is all well")
			}
			for _, want := range c.want {
				if !contains(r.GPUs[0].Differences, want) {
					t.Errorf("%q is not among\n%s", want, strings.Join(r.GPUs[0].Differences, "\n"))
				}
			}
			if c.doctor.profile != nil && len(r.GPUs[0].Differences) != len(c.want) {
				t.Errorf("more differs:\n%s", strings.Join(r.GPUs[0].Differences, "\n"))
			}
			var out strings.Builder
			r.Print(&out)
			if !strings.Contains(out.String(), "\nGPU 0: "+c.want[0]) {
				t.Errorf("it is not printed:\n%s", out.String())
			}
		})
	}
}

func contains(lines []string, start string) bool {
	for _, l := range lines {
		if strings.HasPrefix(l, start) {
			return true
		}
	}
	return false
}

func TestWhatCannotBeToldIsNotWell(t *testing.T) {
	for name, c := range map[string]struct {
		uid  int
		do   func(m *sim.Machine) error
		want string
	}{
		"not root":    {1000, func(*sim.Machine) error { return nil }, "run this as root"},
		"a lost GPU":  {0, func(m *sim.Machine) error { return m.LoseGPU(0) }, "nvmlDeviceGetHandleByIndex(0) says ERROR_GPU_IS_LOST"},
		"MIG pending": {0, func(m *sim.Machine) error { return pend(m) }, "MIG mode changes from 0 to 1 at the next reset"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, gpus(false, "A100-40"))
			if err := c.do(m); err != nil {
				t.Fatal(err)
			}
			o := options(t)
			o.UID = c.uid
			r := compare(t, nvmlapi.New(m, nvmlapi.AsUser(c.uid)), o)
			open := strings.Join(r.GPUs[0].Open, "\n")
			if !strings.Contains(open, c.want) || len(r.GPUs[0].Differences) > 0 || r.OK() {
				t.Errorf("open %q, differences %q, ok %t", open, r.GPUs[0].Differences, r.OK())
			}
		})
	}
}

// pend asks for MIG, which on this part waits for a reset.
func pend(m *sim.Machine) error {
	lib := root(m)
	lib.Init()
	defer lib.Shutdown()
	dev, _ := lib.DeviceGetHandleByIndex(0)
	if activation, ret := dev.SetMigMode(nvml.DEVICE_MIG_ENABLE); ret != nvml.SUCCESS {
		return fmt.Errorf("SetMigMode: %v, %v", activation, ret)
	}
	return nil
}

func TestWithoutAGPUNothingIsCompared(t *testing.T) {
	for name, lib := range map[string]nvml.Interface{
		"no GPU":    root(machine(t, sim.Config{})),
		"no driver": doctored{root(machine(t, sim.Config{})), doctor{init: nvml.ERROR_LIBRARY_NOT_FOUND}},
	} {
		_, err := hardware.Compare(readonly.New(lib), options(t))
		if !errors.Is(err, hardware.ErrNoGPU) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
