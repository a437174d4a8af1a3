// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/api"
)

func device(name string, c Condition) Device {
	return Device{GPU: GPU{Name: name, Address: "0000:0" + name[len(name)-1:] + ":00.0", UUID: "GPU-" + name}, Condition: c, Why: "because"}
}

func TestAcquire(t *testing.T) {
	node := Node{Pool: "n1", Devices: map[string]Device{
		"gpu-0": device("gpu-0", Ready), "gpu-1": device("gpu-1", Ready), "gpu-2": device("gpu-2", Lost),
		"gpu-3": device("gpu-3", Held), "gpu-4": device("gpu-4", Fenced),
	}, Holds: []Hold{
		{Slot: "gpu-1", Claim: "other", Namespace: "ns", Name: "theirs"},
		{Slot: "gpu-0", Claim: "monitor", Admin: true},
	}}
	for name, c := range map[string]struct {
		asks   []Ask
		reason api.Reason
		says   string
	}{
		"free":                    {asks: []Ask{{Request: "gpu", Device: "gpu-0"}}},
		"watched by an admin":     {asks: []Ask{{Request: "gpu", Device: "gpu-0"}}},
		"nothing of ours":         {},
		"admin on a held one":     {asks: []Ask{{Request: "gpu", Device: "gpu-1", Admin: true}}},
		"admin on a fenced one":   {asks: []Ask{{Request: "gpu", Device: "gpu-4", Admin: true}}},
		"use and watch at once":   {asks: []Ask{{Request: "gpu", Device: "gpu-0"}, {Request: "watch", Device: "gpu-0", Admin: true}}},
		"watch and use at once":   {asks: []Ask{{Request: "watch", Device: "gpu-0", Admin: true}, {Request: "gpu", Device: "gpu-0"}}},
		"held":                    {asks: []Ask{{Request: "gpu", Device: "gpu-1"}}, reason: api.Held, says: "ns/theirs (UID other)"},
		"one free, one held":      {asks: []Ask{{Request: "a", Device: "gpu-0"}, {Request: "b", Device: "gpu-1"}}, reason: api.Held, says: "gpu-1"},
		"twice":                   {asks: []Ask{{Request: "a", Device: "gpu-0"}, {Request: "b", Device: "gpu-0"}}, reason: api.Invalid, says: "request b"},
		"unknown":                 {asks: []Ask{{Request: "gpu", Device: "gpu-9"}}, reason: api.NotFound, says: "gpu-9"},
		"lost":                    {asks: []Ask{{Request: "gpu", Device: "gpu-2"}}, reason: api.Lost, says: "because"},
		"admin on a lost one":     {asks: []Ask{{Request: "gpu", Device: "gpu-2", Admin: true}}, reason: api.Lost, says: "because"},
		"held since records went": {asks: []Ask{{Request: "gpu", Device: "gpu-3"}}, reason: api.Fenced, says: "because"},
		"fenced":                  {asks: []Ask{{Request: "gpu", Device: "gpu-4"}}, reason: api.Fenced, says: "because"},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "mine", Asks: c.asks})
			if got := api.ReasonOf(err); got != c.reason {
				t.Fatalf("reason %q, want %q: %v", got, c.reason, err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error does not say %q: %v", c.says, err)
				}
				return
			}
			if len(rec.Grant.Devices) != len(c.asks) {
				t.Errorf("%d devices granted for %d asks", len(rec.Grant.Devices), len(c.asks))
			}
		})
	}
}

// Using and watching one device is one hold, the one that keeps others away, and
// one CDI device.
func TestUseAndWatchIsOneHold(t *testing.T) {
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": device("gpu-0", Ready)}}
	rec, err := Acquire(node, Claim{UID: "c", Asks: []Ask{{Request: "w", Device: "gpu-0", Admin: true}, {Request: "u", Device: "gpu-0"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Holds) != 1 || rec.Holds[0].Admin {
		t.Errorf("holds %+v, want one that is not an admin's", rec.Holds)
	}
	if spec := rec.Steps[0].(WriteSpec); len(spec.Devices) != 1 {
		t.Errorf("CDI devices %+v, want one", spec.Devices)
	}
}

// Whatever claims ask for in whatever order, no two that are granted hold the
// same GPU, and a claim that is released frees exactly what it held.
func TestNoTwoClaimsHoldOneGPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := Node{Pool: "n1", Devices: map[string]Device{}}
		for i := range 4 {
			name := fmt.Sprintf("gpu-%d", i)
			node.Devices[name] = device(name, Ready)
		}
		records := map[string]Record{}
		for i := range rapid.IntRange(1, 30).Draw(t, "operations") {
			if len(records) > 0 && rapid.Bool().Draw(t, "release") {
				uid := rapid.SampledFrom(keys(records)).Draw(t, "which")
				delete(records, uid)
			} else {
				c := Claim{UID: fmt.Sprintf("c%d", i), Asks: rapid.SliceOfN(rapid.Custom(drawAsk), 1, 3).Draw(t, "asks")}
				node.Holds = holdsOf(records)
				if rec, err := Acquire(node, c); err == nil {
					records[c.UID] = rec
				}
			}
			holder := map[string]string{}
			for _, h := range holdsOf(records) {
				if h.Admin {
					continue
				}
				if other, taken := holder[h.Slot]; taken {
					t.Fatalf("%s is held by %s and %s", h.Slot, other, h.Claim)
				}
				holder[h.Slot] = h.Claim
			}
		}
	})
}

func drawAsk(t *rapid.T) Ask {
	return Ask{
		Request: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "request"),
		Device:  rapid.SampledFrom([]string{"gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-9"}).Draw(t, "device"),
		Admin:   rapid.Bool().Draw(t, "admin"),
	}
}

func keys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func holdsOf(records map[string]Record) []Hold {
	var out []Hold
	for _, uid := range keys(records) {
		out = append(out, records[uid].Holds...)
	}
	return out
}

func TestReleaseFencesWhatCannotBeReached(t *testing.T) {
	devices := map[string]Device{"gpu-0": device("gpu-0", Ready), "gpu-1": device("gpu-1", Lost), "gpu-2": device("gpu-2", Lost)}
	r := Release(Record{UID: "c", Namespace: "ns", Name: "n", State: Prepared, Holds: []Hold{
		{Slot: "gpu-0", Namespace: "ns", Name: "n"}, {Slot: "gpu-1", Namespace: "ns", Name: "n"}, {Slot: "gpu-2", Admin: true},
	}}, devices, nil)
	if r.Undo.State != Releasing {
		t.Errorf("state %q", r.Undo.State)
	}
	want := []Fence{{Address: devices["gpu-1"].Address, Condition: Fenced, Why: "claim ns/n was released while the GPU did not answer"}}
	if d := cmp.Diff(want, r.Fences); d != "" {
		t.Errorf("fences (-want +got):\n%s", d)
	}
}

// What was made on a GPU that does not answer is owed; the rest ends now.
func TestReleaseOwesWhatCannotBeReached(t *testing.T) {
	devices := map[string]Device{"gpu-0": device("gpu-0", Ready), "gpu-1": device("gpu-1", Lost)}
	at := func(slot string) Place { return Place{Slot: slot, Address: devices[GPUOf(slot)].Address} }
	here, there := CreateGPUInstance{at("gpu-0-mig-1g-19-0")}, CreateGPUInstance{at("gpu-1-mig-1g-19-0")}
	spec := WriteSpec{Claim: "c", Devices: []SpecDevice{{Address: at("gpu-1").Address}}}
	r := Release(Record{UID: "c", State: Prepared, Steps: []Step{here, there, spec}, Facts: Facts{there.Slot: {GI: 7}}, Holds: []Hold{
		{Slot: here.Slot, Claim: "c"}, {Slot: there.Slot, Claim: "c"},
	}}, devices, nil)
	if d := cmp.Diff([]Step{here, spec}, r.Undo.Steps); d != "" {
		t.Errorf("undone now (-want +got):\n%s", d)
	}
	want := Record{UID: "c", State: Releasing, Steps: []Step{there}, Facts: Facts{there.Slot: {GI: 7}}, Holds: []Hold{{Slot: there.Slot, Claim: "c"}}}
	if d := cmp.Diff(want, r.Owed); d != "" {
		t.Errorf("owed (-want +got):\n%s", d)
	}
}

func TestIntact(t *testing.T) {
	rec := Record{Steps: []Step{WriteSpec{Devices: []SpecDevice{{Address: "0000:00:00.0", UUID: "GPU-gpu-0"}}}}}
	replaced := device("gpu-0", Ready)
	replaced.UUID = "GPU-new"
	for name, c := range map[string]struct {
		d      Device
		reason api.Reason
	}{
		"there": {device("gpu-0", Ready), ""}, "fenced but there": {device("gpu-0", Fenced), ""},
		"lost": {device("gpu-0", Lost), api.Lost}, "replaced": {replaced, api.Lost}, "gone": {device("gpu-1", Ready), api.Lost},
	} {
		if got := api.ReasonOf(Intact(rec, map[string]Device{"gpu-0": c.d})); got != c.reason {
			t.Errorf("%s: reason %q, want %q", name, got, c.reason)
		}
	}
}
