// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
)

// gpu and mig are a configuration with this sharing.
func gpu(sharing string) string { return config(KindGPU, sharing) }
func mig(sharing string) string { return config(KindMIG, sharing) }

func config(k Kind, sharing string) string {
	return `{"apiVersion": "` + Version + `", "kind": "` + string(k) + `", "sharing": ` + sharing + `}`
}

// row is a configuration and what it means, or what its refusal says.
type row struct {
	raw  string
	want *Sharing
	says []string
}

func check(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			got, err := Decode([]byte(r.raw))
			if len(r.says) > 0 {
				refused(t, err, r.says...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(r.want, got.Sharing); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func refused(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted; want an error that says %q", says)
	}
	if got := api.ReasonOf(err); got != api.Invalid {
		t.Errorf("reason %q, want %q: %v", got, api.Invalid, err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func timeSliced(i Interval) *Sharing { return &Sharing{Strategy: StrategyTimeSlicing, Interval: i} }

func shared(m MPS) *Sharing { return &Sharing{Strategy: StrategyMPS, MPS: &m} }

func TestDecode(t *testing.T) {
	check(t, map[string]row{
		"no sharing":   {raw: `{"apiVersion": "` + Version + `", "kind": "GpuConfig"}`},
		"null sharing": {raw: gpu(`null`)},
		"everything": {
			raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 50, "defaultPinnedDeviceMemoryLimit": "10Gi",
				"defaultPerDevicePinnedMemoryLimit": {"0": "5Gi"}, "multiUser": true}}`),
			want: shared(MPS{ActiveThreads: ptr(50), Memory: &Limit{10240, "10Gi"}, PerDevice: map[string]Limit{"0": {5120, "5Gi"}}, MultiUser: true}),
		},
		"on a MIG device": {
			raw:  mig(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 0, "multiUser": false}}`),
			want: shared(MPS{ActiveThreads: ptr(0)}),
		},
		"nulls": {
			raw:  gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": null, "defaultPinnedDeviceMemoryLimit": null, "defaultPerDevicePinnedMemoryLimit": null, "multiUser": null}}`),
			want: shared(MPS{}),
		},
		"time-slicing alone":    {raw: gpu(`{"strategy": "TimeSlicing"}`), want: timeSliced(Default)},
		"no strategy":           {raw: gpu(`{}`), says: []string{"unknown GPU sharing strategy: , supported GPU sharing strategies: TimeSlicing, MPS"}},
		"strategy of no kind":   {raw: gpu(`{"strategy": "mps"}`), says: []string{"unknown GPU sharing strategy: mps, supported GPU sharing strategies: TimeSlicing, MPS"}},
		"threads below 0":       {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": -1}}`), says: []string{"active thread percentage must not be negative", "-1"}},
		"threads above 100":     {raw: mig(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}`), says: []string{"active thread percentage must not be greater than 100", "101"}},
		"threads as a fraction": {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 12.5}}`), says: []string{"12.5"}},
		"threads as a text":     {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": "50"}}`), says: []string{"string"}},
		"twice":                 {raw: gpu(`{"strategy": "MPS", "strategy": "TimeSlicing"}`), says: []string{`duplicate field "sharing.strategy"`}},
		"another case":          {raw: gpu(`{"Strategy": "MPS"}`), says: []string{`unknown field "sharing.Strategy"`}},
		"metadata":              {raw: strings.Replace(gpu(`null`), `"kind"`, `"metadata": {}, "kind"`, 1), says: []string{`unknown field "metadata"`}},
		"a limit that is null":  {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {"0": null}}}`), says: []string{`defaultPerDevicePinnedMemoryLimit["0"]`, "null"}},
		"a limit that is true":  {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": true}}`), says: []string{"defaultPinnedDeviceMemoryLimit", "true"}},
		"limits by number":      {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": ["5Gi"]}}`), says: []string{"array"}},
		"escaped letters":       {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "\u0031Gi"}}`), want: shared(MPS{Memory: &Limit{1024, "1Gi"}})},
		"endless exponent":      {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "1e999999999"}}`), says: []string{"1e999999999"}},
		"wrapped exponent":      {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": 1e4294967296}}`), says: []string{"1e4294967296"}},
	})
}

// A message repeats what was written, and not all of it.
func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for name, raw := range map[string]string{
		"field":    gpu(`{"` + long + `": 1}`),
		"strategy": gpu(`{"strategy": "` + long + `"}`),
		"interval": gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "` + long + `"}}`),
		"limit":    gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "` + long + `"}}`),
		"device":   gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {"` + long + `": "x"}}}`),
		"kind":     `{"apiVersion": "` + long + `", "kind": "` + long + `"}`,
		"text":     `"` + long + `"`,
	} {
		_, err := Decode([]byte(raw))
		refused(t, err)
		if len(err.Error()) > 1024 {
			t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
		}
	}
}
