// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func TestAProductThatIsNotKnownIsRecorded(t *testing.T) {
	for _, c := range []struct {
		product, file string
		mig           bool
	}{
		{"H200-141", "H200-141.json", false},
		{"RTX-PRO-6000", "RTX-PRO-6000-Blackwell-Server-Edition-96.json", true},
		{"L40S", "L40S-45.json", false},
		{"T4", "T4-15.json", false},
	} {
		t.Run(c.product, func(t *testing.T) {
			m := machine(t, gpus(c.mig, c.product))
			o := options(t)
			o.Known = slices.DeleteFunc(o.Known, func(name string) bool { return name == c.product })
			r := compare(t, root(m), o)
			g := r.GPUs[0]
			if r.OK() || g.Product != "" || g.Recorded != filepath.Join(o.Out, c.file) {
				t.Fatalf("ok %t, product %q, recorded in %q", r.OK(), g.Product, g.Recorded)
			}
			raw, err := os.ReadFile(g.Recorded)
			if err != nil {
				t.Fatal(err)
			}
			var got sim.Product
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			want, err := sim.LookupProduct(c.product)
			if err != nil {
				t.Fatal(err)
			}
			diff := cmp.Diff(want, got,
				// What the library does not tell, and where it is from.
				cmpopts.IgnoreFields(sim.Product{}, "Sources", "SMs", "PCIClass", "TimeSlice"),
				cmpopts.IgnoreFields(sim.Profile{}, "Source", "Certainty"),
				cmpopts.SortSlices(func(a, b sim.Profile) bool { return a.Index < b.Index }))
			if diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			for _, field := range []string{"memoryMiB", "sms", "pciDeviceID", "computeMajor", "reservedMiB", "timeSlice"} {
				if got.Sources[field] == "" {
					t.Errorf("%s has no source", field)
				}
			}
			for _, p := range got.Profiles {
				if p.Source == "" || p.Certainty != "A" {
					t.Errorf("%s has the source %q with certainty %q", p.Name, p.Source, p.Certainty)
				}
			}
		})
	}
}
