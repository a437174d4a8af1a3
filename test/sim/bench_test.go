// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// full is a machine of eight H100s with fifty-five MIG devices and programs in
// its driver root; there is room for one more.
func full(b *testing.B) *sim.Machine {
	bin := b.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "nvidia-smi"), make([]byte, 8<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg := sim.Config{Bin: bin}
	for range 8 {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: "H100-80", MIG: true})
	}
	m, err := sim.Create(filepath.Join(b.TempDir(), "sim"), cfg)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 55 {
		if err := m.CreateInstance(i/7, 19, i%7, true); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

// BenchmarkRead is the price of a call that changes nothing.
func BenchmarkRead(b *testing.B) {
	m := full(b)
	for b.Loop() {
		m.Query(sim.Call{Name: "nvmlDeviceGetName"}, func(*sim.State) sim.Code { return sim.Success })
	}
}

// BenchmarkCreate is the price of making a GPU instance and destroying it.
func BenchmarkCreate(b *testing.B) {
	m := full(b)
	for b.Loop() {
		for _, change := range []func(*sim.State) sim.Code{
			func(s *sim.State) sim.Code { _, code := s.CreateGI(&s.GPUs[7], 19, new(6)); return code },
			func(s *sim.State) sim.Code { return s.DestroyGI(&s.GPUs[7], s.GPUs[7].GI(13)) },
		} {
			if code := m.Change(sim.Call{Name: "change"}, change); code != sim.Success {
				b.Fatal(code)
			}
		}
	}
}
