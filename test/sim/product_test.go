// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"math"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// displayed is the memory that nvidia-smi mig -lgip prints, in GiB, by profile
// id: the figures the tables were made from.
var displayed = map[string]map[int]float64{
	"A30-24":   {14: 5.81, 21: 5.81, 5: 11.69, 6: 11.69, 0: 23.44},
	"A100-40":  {19: 4.75, 20: 4.75, 15: 9.62, 14: 9.62, 9: 19.50, 5: 19.50, 0: 39.25},
	"A100-80":  {19: 9.50, 20: 9.50, 15: 19.50, 14: 19.50, 9: 39.25, 5: 39.25, 0: 79.00},
	"H100-80":  {19: 9.75, 20: 9.75, 15: 19.62, 14: 19.62, 9: 39.50, 5: 39.50, 0: 79.25},
	"H200-141": {19: 16.00, 20: 16.00, 15: 32.25, 14: 32.25, 9: 69.50, 5: 69.50, 0: 139.75},

	"H100-NVL-94":  {19: 10.62, 20: 10.62, 15: 21.50, 14: 21.50, 9: 46.12, 5: 46.12, 0: 92.62},
	"GH200-96":     {19: 11.00, 20: 11.00, 15: 23.00, 14: 23.00, 9: 46.50, 5: 46.50, 0: 93.00},
	"RTX-PRO-6000": {14: 23.62, 21: 23.62, 47: 23.62, 65: 23.62, 67: 23.62, 5: 47.38, 35: 47.38, 64: 47.38, 66: 47.38, 0: 95.12, 32: 95.12},
	// Of the last two the profiles of three slices and more are by pattern.
	"B200-180":  {19: 22.00, 20: 22.00, 15: 44.25, 14: 44.25, 9: 89.25, 5: 89.25, 0: 178.75},
	"GB200-186": {19: 22.00, 20: 22.00, 15: 45.50, 14: 45.50, 9: 92.25, 5: 92.25, 0: 184.75},
}

func TestProfileMemory(t *testing.T) {
	for product, want := range displayed {
		p, err := sim.LookupProduct(product)
		must(t, err)
		if len(p.Profiles) != len(want) {
			t.Errorf("%s has %d profiles, want %d", product, len(p.Profiles), len(want))
		}
		for _, pr := range p.Profiles {
			if got := float64(pr.MemoryMiB) / 1024; math.Abs(got-want[pr.ID]) > 0.0051 {
				t.Errorf("%s %s: %.4f GiB, want %.2f", product, pr.Name, got, want[pr.ID])
			}
		}
	}
}

func TestEveryFigureHasASource(t *testing.T) {
	for _, name := range sim.Products() {
		p, err := sim.LookupProduct(name)
		must(t, err)
		for _, field := range []string{"memoryMiB", "sms", "pciDeviceID", "computeMajor", "reservedMiB", "timeSlice"} {
			if p.Sources[field] == "" {
				t.Errorf("%s: %s has no source", name, field)
			}
		}
		for _, pr := range p.Profiles {
			if pr.Source == "" || !strings.Contains("ABC", pr.Certainty) || len(pr.Certainty) != 1 {
				t.Errorf("%s %s has the source %q with certainty %q, want a source and A, B or C", name, pr.Name, pr.Source, pr.Certainty)
			}
		}
		if p.MIG != (len(p.Profiles) > 0) {
			t.Errorf("%s: MIG is %t with %d profiles", name, p.MIG, len(p.Profiles))
		}
	}
	if _, err := sim.LookupProduct("H100"); err == nil || !strings.Contains(err.Error(), "H100-80") {
		t.Errorf("an unknown product: %v, want a list of the known", err)
	}
}
