// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi_test

import (
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// create lays a machine and checks it again when the test ends.
func create(t *testing.T, cfg sim.Config) *sim.Machine {
	t.Helper()
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

// open is an initialised library on m.
func open(t *testing.T, m *sim.Machine, opts ...nvmlapi.Option) nvml.Interface {
	t.Helper()
	lib := nvmlapi.New(m, opts...)
	if ret := lib.Init(); ret != nvml.SUCCESS {
		t.Fatalf("Init: %v", ret)
	}
	return lib
}
