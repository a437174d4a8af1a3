// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/mig"
)

// slot is a partition of one memory slice that begins there.
func slot(name string, start int) Slot {
	return Slot{Name: name, Part: &Part{Profile: mig.Profile{ID: 19, Name: "1g.10gb"}, Placement: mig.Placement{Start: start, Size: 1}}}
}

func with(s Slot, edit func(*Part)) Slot {
	p := *s.Part
	edit(&p)
	s.Part = &p
	return s
}

// terms writes what is listed: a name, and since when it retires.
func terms(listed []Listed) []string {
	var out []string
	for _, l := range listed {
		s := l.Name
		if l.Retiring != 0 {
			s += fmt.Sprintf(" retiring since %d", l.Retiring)
		}
		out = append(out, s)
	}
	return out
}

func TestTurnover(t *testing.T) {
	const now = 1000
	a, b, whole := slot("a", 0), slot("b", 1), Slot{Name: "gpu-0"}
	thick := with(a, func(p *Part) { p.Profile.MemoryMiB = 1 })
	listed := func(s Slot, retiring int64) Listed { return Listed{Slot: s, Retiring: retiring} }
	for name, c := range map[string]struct {
		listed  []Listed
		offered []Slot
		without bool // counters
		want    []string
	}{
		"the first":                   {nil, []Slot{a, whole}, false, []string{"a", "gpu-0"}},
		"nothing changes":             {[]Listed{listed(a, 0), listed(whole, 0)}, []Slot{a, whole}, false, []string{"a", "gpu-0"}},
		"in the order of the offers":  {[]Listed{listed(whole, 0), listed(a, 0)}, []Slot{a, b, whole}, false, []string{"a", "b", "gpu-0"}},
		"one is no longer offered":    {[]Listed{listed(a, 0), listed(b, 0)}, []Slot{b}, false, []string{"b", "a retiring since 1000"}},
		"and stays so":                {[]Listed{listed(b, 0), listed(a, 900)}, []Slot{b}, false, []string{"b", "a retiring since 900"}},
		"it comes back":               {[]Listed{listed(b, 0), listed(a, 900)}, []Slot{a, b}, false, []string{"a", "b"}},
		"another of its name waits":   {[]Listed{listed(a, 0)}, []Slot{thick, b}, false, []string{"b", "a retiring since 1000"}},
		"and while it retires":        {[]Listed{listed(a, 900)}, []Slot{thick}, false, []string{"a retiring since 900"}},
		"another hardware beside it":  {[]Listed{listed(a, 900)}, []Slot{whole}, false, []string{"gpu-0", "a retiring since 900"}},
		"which cannot be said":        {[]Listed{listed(a, 900)}, []Slot{whole, b}, true, []string{"b", "a retiring since 900"}},
		"nor of a whole one":          {[]Listed{listed(whole, 900)}, []Slot{a, b}, true, []string{"gpu-0 retiring since 900"}},
		"all go":                      {[]Listed{listed(a, 0), listed(b, 900)}, nil, false, []string{"a retiring since 1000", "b retiring since 900"}},
		"the same one, by another id": {[]Listed{listed(a, 0)}, []Slot{with(a, func(p *Part) { p.Profile.ID = 20 })}, false, []string{"a retiring since 1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, terms(Turnover(c.listed, c.offered, Abilities{Partitions: !c.without}, now))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// An edit of whatever a device says of itself makes another device of it; what
// it does not say does not.
func TestEditsThatMakeAnotherSlot(t *testing.T) {
	a := slot("a", 2)
	for name, c := range map[string]struct {
		edited Slot
		same   bool
	}{
		"nothing":     {with(a, func(*Part) {}), true},
		"index":       {with(a, func(p *Part) { p.Profile.Index = 9 }), true},
		"the most":    {with(a, func(p *Part) { p.Profile.Max = 9 }), true},
		"placements":  {with(a, func(p *Part) { p.Profile.Placements = []mig.Placement{{}} }), true},
		"id":          {with(a, func(p *Part) { p.Profile.ID = 9 }), false},
		"profile":     {with(a, func(p *Part) { p.Profile.Name = "1g.11gb" }), false},
		"memory":      {with(a, func(p *Part) { p.Profile.MemoryMiB = 9 }), false},
		"engines":     {with(a, func(p *Part) { p.Profile.OFAEngines = 9 }), false},
		"start":       {with(a, func(p *Part) { p.Start = 3 }), false},
		"size":        {with(a, func(p *Part) { p.Size = 2 }), false},
		"an instance": {with(a, func(p *Part) { p.UUID = "MIG-1" }), false},
		"all of it":   {Slot{Name: "a"}, false},
	} {
		got := terms(Turnover([]Listed{{Slot: a}}, []Slot{c.edited}, everything, 7))
		want := []string{"a retiring since 7"}
		if c.same {
			want = []string{"a"}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// A slice takes 64 devices. What is published has the first right to a place,
// whatever comes before it in the order.
func TestNoMoreThanASliceTakes(t *testing.T) {
	var listed []Listed
	var offered []Slot
	for i := range maxDevices {
		s := slot(fmt.Sprintf("old-%d", i), i)
		listed = append(listed, Listed{Slot: s})
		if i >= 4 {
			offered = append(offered, s)
		}
	}
	offered = append([]Slot{slot("new-0", 100), slot("new-1", 101), slot("new-2", 102)}, offered...)
	got := Turnover(listed, offered, everything, 5)
	if len(got) != maxDevices || got[0].Name != "old-4" {
		t.Fatalf("%d are listed, the first is %s; want the %d that were there", len(got), got[0].Name, maxDevices)
	}
	// Two of the four that retire go: two of the three that are new come.
	got = Turnover(Withdraw(got, []string{"old-0", "old-1", "old-2", "old-3"}, map[string]bool{"old-0": true, "old-1": true}, 200), offered, everything, 200)
	if d := cmp.Diff([]string{"new-0", "new-1", "old-4"}, terms(got)[:3]); len(got) != maxDevices || d != "" {
		t.Errorf("%d are listed (-want +got):\n%s", len(got), d)
	}
	if got = Turnover(nil, append(offered, slot("more-0", 0), slot("more-1", 0)), everything, 5); len(got) != maxDevices || got[63].Name != "more-0" {
		t.Errorf("%d of 65 are listed, the last is %s", len(got), got[len(got)-1].Name)
	}
}

// The protocol of a device that ceases to be offered, from end to end.
func TestRetiring(t *testing.T) {
	p := Patience{Wait: 120, Again: 600}
	a := slot("a", 0)
	listed := Turnover([]Listed{{Slot: a}}, nil, everything, 1000)
	due := func(now int64, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, Due(listed, now, p)); d != "" {
			t.Errorf("due at %d (-want +got):\n%s", now, d)
		}
	}
	due(1000)
	due(1119)
	due(1120, "a")
	listed = Withdraw(listed, []string{"a"}, map[string]bool{"a": true}, 1125) // a claim has it
	due(1125)
	due(1724)
	due(1725, "a")
	listed = Withdraw(listed, nil, nil, 1725) // the claims could not be listed
	due(1725, "a")

	// It comes back, and retires anew: the wait begins again.
	listed = Turnover(listed, []Slot{a}, everything, 1800)
	due(5000)
	if d := cmp.Diff([]string{"a"}, terms(Withdraw(listed, []string{"a"}, nil, 1800))); d != "" {
		t.Errorf("offered again, it is not withdrawn (-want +got):\n%s", d)
	}
	listed = Turnover(listed, nil, everything, 2000)
	due(2119)
	due(2120, "a")
	if left := Withdraw(listed, []string{"a"}, map[string]bool{"b": true}, 2120); len(left) != 0 {
		t.Errorf("nobody has it, and it is listed: %v", terms(left))
	}
}

// That claims were looked through before it retired says nothing.
func TestDueAfterALookThatWasTooEarly(t *testing.T) {
	listed := []Listed{{Slot: slot("a", 0), Retiring: 2000, Asked: 1990}}
	if d := cmp.Diff([]string{"a"}, Due(listed, 2120, Patience{Wait: 120, Again: 600})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What ceased to be offered after the claims began to be looked through was not
// looked for.
func TestWithdrawLeavesWhatRetiredMeanwhile(t *testing.T) {
	listed := []Listed{{Slot: slot("a", 0), Retiring: 1300}}
	if got := terms(Withdraw(listed, []string{"a"}, nil, 1250)); len(got) != 1 {
		t.Errorf("it is withdrawn, though it retired after the look began")
	}
}

func TestNews(t *testing.T) {
	a, b := slot("a", 0), slot("b", 1)
	was := []Listed{{Slot: a}, {Slot: b, Retiring: 5, Asked: 6}}
	for name, c := range map[string]struct {
		now  []Listed
		news bool
	}{
		"the same":       {[]Listed{{Slot: with(a, func(*Part) {})}, {Slot: b, Retiring: 5, Asked: 6}}, false},
		"another order":  {[]Listed{was[1], was[0]}, true},
		"one more":       {append([]Listed{{Slot: Slot{Name: "gpu-0"}}}, was...), true},
		"one less":       {was[:1], true},
		"none":           {nil, true},
		"retiring":       {[]Listed{{Slot: a, Retiring: 1}, was[1]}, true},
		"asked":          {[]Listed{was[0], {Slot: b, Retiring: 5, Asked: 7}}, true},
		"something else": {[]Listed{{Slot: with(a, func(p *Part) { p.UUID = "MIG-1" })}, was[1]}, true},
	} {
		o := Offering{Device: Device{GPU: GPU{Address: "x"}}, Slots: c.now}
		unchanged := Offering{Device: Device{GPU: GPU{Address: "y"}}}
		got := News(map[string][]Listed{"x": was, "gone": was}, []Offering{o, unchanged})
		want := map[string][]Listed{}
		if c.news {
			want["x"] = c.now
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
