// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPinned(t *testing.T) {
	gib := func(n int64) Limit { return Limit{MiB: n << 10, Quantity: "n"} }
	uuids := []string{"GPU-c", "GPU-a", "GPU-b"}
	for name, c := range map[string]struct {
		mps   MPS
		total map[string]int64
		want  []PinnedLimit
		says  string
	}{
		"none":                          {},
		"the default everywhere":        {mps: MPS{Memory: new(gib(2))}, want: []PinnedLimit{{0, 2048}, {1, 2048}, {2, 2048}}},
		"an override on one only":       {mps: MPS{Memory: new(gib(2)), PerDevice: map[string]Limit{"1": gib(1)}}, want: []PinnedLimit{{0, 2048}, {1, 1024}, {2, 2048}}},
		"an override above the default": {mps: MPS{Memory: new(gib(2)), PerDevice: map[string]Limit{"GPU-c": gib(3)}}, want: []PinnedLimit{{0, 2048}, {1, 2048}, {2, 3072}}},
		"one device by two names":       {mps: MPS{PerDevice: map[string]Limit{"0": gib(1), "GPU-a": gib(1)}}, want: []PinnedLimit{{0, 1024}}},
		"and with two limits":           {mps: MPS{PerDevice: map[string]Limit{"0": gib(1), "GPU-a": gib(2)}}, says: "invalid device"},
		"too low a default":             {mps: MPS{Memory: &Limit{0, "512Ki"}}, says: `invalid limit: value set too low: "512Ki"`},
		"too low, and overridden":       {mps: MPS{Memory: &Limit{0, "512Ki"}, PerDevice: map[string]Limit{"0": gib(1), "1": gib(1), "2": gib(1)}}, says: "too low"},
		"too low an override":           {mps: MPS{PerDevice: map[string]Limit{"0": {0, "1M"}}}, says: `invalid limit: value set too low: "1M"`},
		"above one device's memory":     {mps: MPS{Memory: new(gib(2))}, total: map[string]int64{"GPU-a": 4096, "GPU-b": 1024, "GPU-c": 4096}, says: "1024 MiB of GPU-b"},
		"that is overridden":            {mps: MPS{Memory: new(gib(2)), PerDevice: map[string]Limit{"GPU-b": gib(1)}}, total: map[string]int64{"GPU-b": 1024}, want: []PinnedLimit{{0, 2048}, {1, 1024}, {2, 2048}}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // map order must not show
				got, err := c.mps.Pinned(uuids, c.total)
				if c.says != "" {
					refused(t, err, c.says)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Fatalf("-want +got:\n%s", d)
				}
			}
		})
	}
	if uuids[0] != "GPU-c" {
		t.Error("the caller's list was sorted")
	}
}

// Which of several faults is told does not change from call to call.
func TestPinnedTellsTheSameFault(t *testing.T) {
	m := MPS{PerDevice: map[string]Limit{"x": {1, "1Mi"}, "y": {0, "0"}, "0": {0, "0"}, "9": {1, "1Mi"}}}
	_, first := m.Pinned([]string{"GPU-a"}, nil)
	refused(t, first)
	for range 50 {
		if _, err := m.Pinned([]string{"GPU-a"}, nil); err == nil || err.Error() != first.Error() {
			t.Fatalf("first %v, then %v", first, err)
		}
	}
}
