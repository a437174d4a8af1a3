// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// Load gives a case its library, not yet initialised, on the machine m.
type Load func(t *testing.T, m *sim.Machine) nvml.Interface

// env is what a case works with.
type env struct {
	*testing.T
	m   *sim.Machine
	lib nvml.Interface
}

// behaviour is one row of the table.
type behaviour struct {
	name string
	gpus []string // products
	// driver of the machine; the newest when empty, so that every function is there
	driver string
	raw    bool // the case initialises the library itself
	mig    bool // MIG is on on every GPU
	// ids, uuids and resetForbidden are those of sim.Config.
	ids, uuids     string
	resetForbidden bool
	run            func(e *env)
}

// newest has every function of the header that go-nvml was generated from.
const newest = "615.10"

// Run runs every behaviour on what load gives.
func Run(t *testing.T, load Load) {
	var table []behaviour
	for _, part := range [][]behaviour{
		sessions(), identities(), memories(), modes(), shares(), partitions(), migModes(), instances(), migDevices(), events(), faults(), losses(),
	} {
		table = append(table, part...)
	}
	for _, b := range table {
		t.Run(b.name, func(t *testing.T) { b.check(t, load) })
	}
}

func (b behaviour) check(t *testing.T, load Load) {
	cfg := sim.Config{Driver: b.driver, CUDA: "13.4", IDs: b.ids, UUIDs: b.uuids, ResetForbidden: b.resetForbidden}
	if b.driver == "" {
		cfg.Driver = newest
	}
	for _, p := range b.gpus {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p, MIG: b.mig})
	}
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t, m, load(t, m)}
	if !b.raw {
		e.is("Init", e.lib.Init(), nvml.SUCCESS)
	}
	b.run(e)
	for e.lib.Shutdown() == nvml.SUCCESS {
		// The next case in this process begins without a session.
	}
	if err := m.Check(); err != nil {
		t.Errorf("the machine after the case: %v", err)
	}
}

// is compares a return code.
func (e *env) is(what string, got, want nvml.Return) {
	e.Helper()
	if got != want {
		e.Errorf("%s: %v, want %v", what, got, want)
	}
}

// do fails the case when the machine refuses what the case did to it.
func (e *env) do(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// dev is the handle of a GPU that must be there.
func (e *env) dev(index int) nvml.Device {
	e.Helper()
	d, ret := e.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		e.Fatalf("handle of GPU %d: %v", index, ret)
	}
	return d
}

// equal compares an answer and its return code, which must be SUCCESS.
func equal[T comparable](e *env, what string, got T, ret nvml.Return, want T) {
	e.Helper()
	if ret != nvml.SUCCESS || got != want {
		e.Errorf("%s: %v (%v), want %v", what, got, ret, want)
	}
}

// text is a C string in a field of a structure.
func text(field []int8) string {
	var b []byte
	for _, c := range field {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
