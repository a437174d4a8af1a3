// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// full is a machine of H100s with MIG devices in all places but the last, and
// programs in its driver root.
func full(b *testing.B, gpus int) *sim.Machine {
	bin := b.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "nvidia-smi"), make([]byte, 8<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	cfg := sim.Config{Bin: bin}
	for range gpus {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: "H100-80", MIG: true})
	}
	m, err := sim.Create(filepath.Join(b.TempDir(), "sim"), cfg)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 7*gpus - 1 {
		if err := m.CreateInstance(i/7, 19, i%7, true); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

// BenchmarkRead is the price of a call that changes nothing.
func BenchmarkRead(b *testing.B) {
	m := full(b, 8)
	for b.Loop() {
		m.Query(sim.Call{Name: "nvmlDeviceGetName"}, func(*sim.State) sim.Code { return sim.Success })
	}
}

// BenchmarkCreate is the price of making a GPU instance and destroying it.
func BenchmarkCreate(b *testing.B) {
	for _, gpus := range []int{1, 8} {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			m := full(b, gpus)
			for b.Loop() {
				for _, change := range []func(*sim.State, *sim.GPU) sim.Code{
					func(s *sim.State, g *sim.GPU) sim.Code { _, code := s.CreateGI(g, 19, new(6)); return code },
					func(s *sim.State, g *sim.GPU) sim.Code { return s.DestroyGI(g, g.GI(13)) },
				} {
					if code := m.Change(sim.Call{Name: "change"}, func(s *sim.State) sim.Code { return change(s, &s.GPUs[gpus-1]) }); code != sim.Success {
						b.Fatal(code)
					}
				}
			}
		})
	}
}
