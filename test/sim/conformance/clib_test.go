// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/conformance"
)

// TestLibrary runs the suite on the C library, built here and loaded by
// go-nvml as the node plugin loads the real one. Building takes a minute and a
// C compiler, hence the build tag. Its table needs root, as the library asks
// the kernel who calls.
func TestLibrary(t *testing.T) {
	path := build(t)
	// Held open: go-nvml unloads at Shutdown, and cases ask after it.
	held := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := held.Open(); err != nil {
		t.Fatal(err)
	}
	conformance.Run(t, func(t *testing.T, m *sim.Machine) nvml.Interface {
		t.Setenv("COTENANT_SIM_STATE", m.Dir())
		return nvml.New(nvml.WithLibraryPath(path))
	})
}

// TestLibraryOfOldDriver: the library in a driver root has the functions of
// that driver and no younger ones.
func TestLibraryOfOldDriver(t *testing.T) {
	path := build(t)
	for driver, want := range map[string]bool{"535.129.03": false, "580.65.06": true} {
		m, err := sim.Create(filepath.Join(t.TempDir(), driver), sim.Config{Driver: driver, Bin: filepath.Dir(path)})
		if err != nil {
			t.Fatal(err)
		}
		lib := dl.New(filepath.Join(m.Root(), "usr/lib64/libnvidia-ml.so.1"), dl.RTLD_LAZY)
		if err := lib.Open(); err != nil {
			t.Fatal(err)
		}
		if err := lib.Lookup("nvmlInit_v2"); err != nil {
			t.Errorf("driver %s: %v", driver, err)
		}
		if found := lib.Lookup("nvmlDeviceGetAddressingMode") == nil; found != want {
			t.Errorf("driver %s has nvmlDeviceGetAddressingMode: %t, want %t", driver, found, want)
		}
		if lib.Lookup("nvmlDeviceSetMemoryLimits_v1") == nil {
			t.Errorf("driver %s has nvmlDeviceSetMemoryLimits_v1, which came with 615", driver)
		}
	}
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags", "-extldflags=-Wl,-soname,libnvidia-ml.so.1",
		"-o", path, "github.com/cotenant-dev/cotenant/test/sim/cmd/libnvidia-ml")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("building the library: %w\n%s", err, out))
	}
	return path
}
