// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

// driverRoot is one with an nvidia-smi that is this script, and an MPS control program
// if that is to be there.
func driverRoot(t *testing.T, script string, mps bool) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "usr", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if text == "" {
			return
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("nvidia-smi", script)
	if mps {
		write("nvidia-cuda-mps-control", "exit 1")
	}
	return filepath.Dir(filepath.Dir(bin))
}

// What nvidia-smi says is compared, and words that the product takes for others, or
// for none, are told.
func TestWordsOfThePolicies(t *testing.T) {
	const list = `[ "$1 $2 $4" = "compute-policy -i -l" ] || exit 9; `
	for name, c := range map[string]struct {
		product, script string
		mig             bool
		differs, open   string
	}{
		"a table":                       {product: "H100-80", script: list + `echo '| 0  timeslice  Default |'`},
		"another value":                 {product: "H100-80", script: list + `echo 'GPU 00000000:01:00.0'; echo '    Time-Slice : Long'`},
		"none where there is one":       {product: "H100-80", script: list + `echo '| 0  timeslice  [N/A] |'`, differs: "time-slice interval: simulator says a value, hardware says none"},
		"refused where there is one":    {product: "H100-80", script: list + `echo 'Not Supported' >&2; exit 3`, differs: "hardware says none"},
		"none where MIG mode is on":     {product: "H100-80", mig: true, script: list + `echo 'Not Supported'; exit 3`},
		"one where there is none":       {product: "P4", script: list + `echo 'timeslice default'`, differs: "time-slice interval: simulator says none, hardware says a value"},
		"words that nobody expected":    {product: "H100-80", script: list + `echo 'Time slice policy'; echo 'Default'`, open: `cannot read the time-slice interval in what nvidia-smi says, and takes it for Default: "Time slice policy\nDefault\n"`},
		"a number":                      {product: "H100-80", script: list + `echo 'timeslice: 2 ms'`, open: "cannot read"},
		"nothing":                       {product: "H100-80", script: list + `true`, open: "cannot read"},
		"no right":                      {product: "H100-80", script: list + `echo 'Insufficient Permissions'; exit 4`, open: "exit status 4: Insufficient Permissions"},
		"no nvidia-smi":                 {product: "H100-80", open: "there is no nvidia-smi below"},
		"the value stands on top of it": {product: "H100-80", script: list + `echo 'Short'; echo 'timeslice'`, open: "cannot read"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, gpus(c.mig, c.product))
			o := options(t)
			o.DriverRoot = driverRoot(t, c.script, true)
			r := compare(t, root(m), o)
			one(t, "differences", r.GPUs[0].Differences, c.differs)
			one(t, "what could not be told", r.GPUs[0].Open, c.open)
			if r.OK() != (c.differs == "" && c.open == "") {
				t.Errorf("it is in order: %t", r.OK())
			}
		})
	}
}

// one wants one line with the words, or none for "".
func one(t *testing.T, what string, lines []string, words string) {
	t.Helper()
	if words == "" && len(lines) > 0 || words != "" && (len(lines) != 1 || !strings.Contains(lines[0], words)) {
		t.Errorf("%s: %q, want %q", what, lines, words)
	}
}

// That a driver is without MPS is told, and is no difference.
func TestMPSControlIsNoted(t *testing.T) {
	m := machine(t, gpus(false, "H100-80"))
	for name, c := range map[string]struct {
		mps  bool
		want string
	}{"there": {true, "/usr/bin/nvidia-cuda-mps-control"}, "not there": {false, "there is no nvidia-cuda-mps-control below"}} {
		o := options(t)
		o.DriverRoot = driverRoot(t, "echo timeslice default", c.mps)
		r := compare(t, root(m), o)
		one(t, name, r.Notes, c.want)
		var out strings.Builder
		if r.Print(&out); !r.OK() || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: in order %t; printed:\n%s", name, r.OK(), out.String())
		}
	}
}

// The simulator's own nvidia-smi says what the simulator's product has.
func TestTheSimulatorsPolicies(t *testing.T) {
	bin := t.TempDir()
	if err := programs.Build(bin, programs.SMI, programs.MPSControl); err != nil {
		t.Fatal(err)
	}
	c := gpus(false, "H100-80", "P4", "A100-40")
	c.GPUs[2].MIG, c.Bin = true, bin
	m := machine(t, c)
	t.Setenv("COTENANT_SIM_STATE", m.Dir())
	t.Setenv("COTENANT_SIM_DEV", filepath.Join(m.Root(), "dev"))
	for _, turns := range []int{0, 2} {
		if err := m.PresetTimeSlice(0, turns); err != nil {
			t.Fatal(err)
		}
		before, err := m.State()
		if err != nil {
			t.Fatal(err)
		}
		o := options(t)
		o.DriverRoot = m.Root()
		for i, g := range compare(t, root(m), o).GPUs {
			if len(g.Differences)+len(g.Open) > 0 {
				t.Errorf("GPU %d, %s: differences %q, open %q", i, g.Product, g.Differences, g.Open)
			}
		}
		unchanged(t, m, before)
	}
}
