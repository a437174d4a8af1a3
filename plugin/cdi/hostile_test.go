// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/plugin/cdi"
	"github.com/cotenant-dev/cotenant/sharing"
)

// annotated is the file of a claim whose one device has these annotations.
func annotated(t testing.TB, made, changed string) []byte {
	t.Helper()
	raw, err := json.Marshal(specs.Spec{Version: "0.8.0", Kind: "k8s.gpu.nvidia.com/claim", Devices: []specs.Device{{
		Name: "d", Annotations: map[string]string{"cotenant.dev/made": made, "cotenant.dev/changed": changed}}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// traced is what the file tells.
func traced(t testing.TB, dir string, file []byte) (sharing.Trace, error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "k8s.gpu.nvidia.com-claim_"+claim+".yaml"), file, 0o644); err != nil {
		t.Fatal(err)
	}
	return cdi.New(cdi.Config{Dir: dir}).Trace(claim)
}

const (
	goodMade    = `{"slot":"gpu-0-mig-1g10gb-19-6","address":"0000:65:00.0","profile":19,"start":6,"size":1,"gi":7,"ci":0,"uuid":"MIG-1"}`
	goodChanged = `{"address":"0000:65:00.0","uuid":"GPU-1","slot":"gpu-0-quarter-9fb0","daemon":"gpu-0-quarter-9fb0","computeModeWas":"Default","timeSliceWas":"","shared":{"offer":"quarter","mode":"MPS","shares":4,"memoryLimit":"process"}}`
)

// Files that were cut short, written by others, or by hand: a reason that names the
// file, or what they tell.
func TestTraceOfWhatIsNotOurs(t *testing.T) {
	dir := t.TempDir()
	whole := annotated(t, goodMade, goodChanged)
	good, err := traced(t, dir, whole)
	ok(t, err)
	if len(good.Made) != 1 || len(good.Changed) != 1 || len(good.Slots()) != 1 || len(good.Facts()) != 3 {
		t.Errorf("the good one tells %+v", good)
	}
	for name, file := range map[string][]byte{
		"empty":              nil,
		"YAML":               []byte("cdiVersion: 0.8.0\nkind: k8s.gpu.nvidia.com/claim\n"),
		"of two documents":   append(append([]byte{}, whole...), "{}"...),
		"a list":             []byte("[]"),
		"devices of another": []byte(`{"devices":"all"}`),
		"a number":           annotated(t, "7", goodChanged),
		"half a note":        annotated(t, goodMade, goodChanged[:len(goodChanged)/2]),
		"a float":            annotated(t, strings.Replace(goodMade, "19,", "19.5,", 1), goodChanged),
		"too large":          annotated(t, strings.Replace(goodMade, `"gi":7`, `"gi":99999999999999999999`, 1), goodChanged),
	} {
		got, err := traced(t, dir, file)
		if err == nil || !strings.Contains(err.Error(), claim) || len(got.Made)+len(got.Changed) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for cut := range len(whole) {
		if _, err := traced(t, dir, whole[:cut]); err == nil {
			t.Fatalf("the first %d of %d bytes tell something", cut, len(whole))
		}
	}
}

// Whatever stands in the file, it is an error, or something that a release can be made
// of.
func FuzzTrace(f *testing.F) {
	f.Add(goodMade, goodChanged)
	f.Add("{}", "{}")
	f.Add("null", `{"shared":{"shares":-1},"computeModeWas":null}`)
	f.Add(goodMade, `{"slot":"../..","daemon":"x","address":"\u0000","timeSliceWas":"Forever"}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, made, changed string) {
		trace, err := traced(t, dir, annotated(t, made, changed))
		if err != nil {
			if len(trace.Made)+len(trace.Changed) > 0 {
				t.Errorf("an error beside %+v", trace)
			}
			return
		}
		rec := sharing.Stray(claim, trace, nil)
		if n := len(rec.Steps); n == 0 || rec.Steps[n-1].(sharing.WriteSpec).Claim != claim {
			t.Errorf("nothing removes the file: %+v", rec.Steps)
		}
		for _, s := range rec.Steps {
			s.GPUs()
		}
		trace.Slots()
		sharing.Adoptable(nil, trace.Made)
	})
}
