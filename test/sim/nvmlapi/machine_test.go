// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

func TestMain(m *testing.M) { os.Exit(userns.Main(m)) }

// create lays a machine and checks it again when the test ends.
func create(t *testing.T, cfg sim.Config) *sim.Machine {
	t.Helper()
	// Not t.TempDir: in a user namespace its mount points outlive the test.
	dir, err := os.MkdirTemp("", "nvml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m, err := sim.Create(filepath.Join(dir, "sim"), cfg)
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

// open is an initialised library on m.
func open(t *testing.T, m *sim.Machine, opts ...nvmlapi.Option) nvml.Interface {
	t.Helper()
	lib := nvmlapi.New(m, opts...)
	if ret := lib.Init(); ret != nvml.SUCCESS {
		t.Fatalf("Init: %v", ret)
	}
	return lib
}
