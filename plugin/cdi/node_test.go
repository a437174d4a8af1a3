// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"
	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/cotenant-dev/cotenant/plugin/cdi"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

func TestMain(m *testing.M) { os.Exit(userns.Main(m)) }

// node is a simulated machine and the directory of its specs.
type node struct {
	t       *testing.T
	machine *sim.Machine
	cfg     cdi.Config
}

func newNode(t *testing.T, products ...string) *node {
	t.Helper()
	// Not t.TempDir: in a user namespace its mount points outlive the test.
	dir, err := os.MkdirTemp("", "cdi")
	ok(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := sim.Config{Seed: 1}
	for _, p := range products {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p})
	}
	m, err := sim.Create(filepath.Join(dir, "sim"), cfg)
	ok(t, err)
	lib := nvmlapi.New(m)
	if ret := lib.Init(); ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	return &node{t: t, machine: m, cfg: cdi.Config{
		Dir: filepath.Join(dir, "cdi"), DriverRoot: m.Root(), HostDriverRoot: m.Root(), DevRoot: m.Root(),
		ProcRoot: filepath.Join(m.Root(), "proc"), HookPath: "/usr/bin/nvidia-cdi-hook",
		NVML: func(f func(nvml.Interface) error) error { return f(lib) },
		Load: func() string { return "1" },
	}}
}

func (n *node) specs() *cdi.Specs { return cdi.New(n.cfg) }

// gpu is the GPU of that index now.
func (n *node) gpu(index int) sim.GPU {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	return s.GPUs[index]
}

// nodes are the device nodes of the nth device of a claim's spec, as the container
// runtime's library reads them, sorted. Those of a GPU are told by
// their path, those of capabilities in full.
func (n *node) nodes(claim string, nth int) []string {
	n.t.Helper()
	spec, err := cdiapi.ReadSpec(filepath.Join(n.cfg.Dir, "k8s.gpu.nvidia.com-claim_"+claim+".yaml"), 0)
	ok(n.t, err)
	var out []string
	for _, d := range spec.Devices[nth].ContainerEdits.DeviceNodes {
		line := d.Path
		if strings.HasPrefix(d.Path, "/dev/nvidia-caps/") {
			line = fmt.Sprintf("%s %s %d:%d %s", d.Path, d.Type, d.Major, d.Minor, d.Permissions)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
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
