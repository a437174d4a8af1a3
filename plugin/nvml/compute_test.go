// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

const setCompute = "nvmlDeviceSetComputeMode"

// Every mode there is, read and set, and what is refused.
func TestComputeMode(t *testing.T) {
	b := newBench(t, machineOf("H100-80", "H100-80+"))
	address := b.gpu(0).PCI
	for mode, number := range map[sharing.ComputeMode]int{
		sharing.ComputeProhibited: sim.ComputeProhibited, sharing.ComputeExclusive: sim.ComputeExclusiveProcess, sharing.ComputeDefault: sim.ComputeDefault,
	} {
		ok(t, b.SetComputeMode(t.Context(), address, mode))
		same(t, "set", b.gpu(0).ComputeMode, number)
		got, err := b.ComputeMode(t.Context(), address)
		ok(t, err)
		same(t, "read", got, mode)
	}
	ok(t, b.SetComputeMode(t.Context(), address, sharing.ComputeDefault))
	refused(t, b.SetComputeMode(t.Context(), address, "Exclusive_Thread"), api.Internal, `no compute mode "Exclusive_Thread"`)
	// "the device must be a MIG device handle" (nvml.h) once its mode is on.
	refused(t, b.SetComputeMode(t.Context(), b.gpu(1).PCI, sharing.ComputeExclusive), api.Unsupported, setCompute+" says Not Supported")
	b.refuse(setCompute, 1, sim.NoPermission)
	refused(t, b.SetComputeMode(t.Context(), address, sharing.ComputeExclusive), "", setCompute+" says Insufficient Permissions")
	same(t, "mode after refusals", b.gpu(0).ComputeMode, sim.ComputeDefault)
}

// Memory limits are a fact of driver and GPU, not of the moment: it does not change
// with MIG mode, in which the driver refuses to say.
func TestMemoryLimitsAreAFact(t *testing.T) {
	for driver, want := range map[string]bool{"580.65.06": false, "615.20.01": true} {
		cfg := machineOf("H100-80", "H100-80+")
		cfg.Driver = driver
		b := newBench(t, cfg)
		b.cgroups()
		for _, on := range []bool{false, true, false} {
			ok(t, b.SwitchMIG(t.Context(), b.gpu(0).PCI, on))
			// The second one is partitioned from the start, and was never asked.
			for i, g := range b.look() {
				if g.MemoryLimits != (want && i == 0) {
					t.Errorf("driver %s, GPU %d, MIG mode of the first %t: memory limits %t", driver, i, on, g.MemoryLimits)
				}
			}
		}
	}
}

// cgroups gives the machine a root of version 2.
func (b *bench) cgroups() {
	b.t.Helper()
	dir := filepath.Join(b.machine.Root(), "sys/fs/cgroup")
	ok(b.t, os.MkdirAll(dir, 0o755))
	ok(b.t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("memory dmem\n"), 0o644))
	b.t.Cleanup(func() { ok(b.t, os.RemoveAll(filepath.Dir(dir))) })
}

// A GPU of which the driver does not tell limits has none, also later.
func TestGPUWithoutMemoryLimits(t *testing.T) {
	cfg := machineOf("H100-80")
	cfg.Driver = "615.20.01"
	b := newBench(t, cfg)
	b.cgroups()
	b.refuse("nvmlDeviceGetMemoryLimits_v1", 1, sim.OperatingSystem)
	for range 2 {
		same(t, "memory limits", b.look()[0].MemoryLimits, false)
	}
}
