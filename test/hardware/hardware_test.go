// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build hardware

package hardware_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware"
	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// TestHardware compares the simulator with the GPUs of this machine. Without a GPU
// it fails: nothing was compared.
func TestHardware(t *testing.T) {
	var options []nvml.LibraryOption
	library := os.Getenv("NVML_LIBRARY")
	if library != "" {
		options = append(options, nvml.WithLibraryPath(library))
	}
	driver := os.Getenv("DRIVER_ROOT")
	if driver == "" {
		driver = "/"
	}
	out := os.Getenv("OUT")
	if out == "" {
		out = filepath.Join("..", "..", "out", "hardware")
	}
	r, err := hardware.Compare(readonly.New(nvml.New(options...)), hardware.Options{
		Scratch: t.TempDir(), Out: out, Known: sim.Products(), UID: os.Geteuid(),
		DriverRoot: driver, Library: library,
	})
	if errors.Is(err, hardware.ErrNoGPU) {
		t.Fatalf("could not tell: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Print(os.Stdout)
	if !r.OK() {
		t.Error("the simulator and this machine differ, or could not be compared; see above")
	}
}
