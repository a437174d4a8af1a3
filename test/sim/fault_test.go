// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// ask makes n calls and returns the numbers of those that were struck.
func ask(m *sim.Machine, call string, n int) (struck []int) {
	for i := range n {
		if m.Query(sim.Call{Name: call}, func(*sim.State) sim.Code { return sim.Success }) != sim.Success {
			struck = append(struck, i+1)
		}
	}
	return struck
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		when sim.When
		want []int
	}{
		{sim.When{}, []int{1, 2, 3, 4, 5, 6}},
		{sim.When{Nth: 3}, []int{3}},
		{sim.When{Every: 2}, []int{2, 4, 6}},
		{sim.When{After: 4}, []int{5, 6}},
		{sim.When{After: 2, Nth: 2}, []int{4}},
		{sim.When{After: 1, Every: 3}, []int{4}},
	} {
		t.Run(fmt.Sprintf("%+v", c.when), func(t *testing.T) {
			m := create(t)
			code := sim.Unknown
			must(t, m.Inject(sim.Fault{When: c.when, Do: sim.Do{Return: &code}}))
			if got := ask(m, "nvmlInit_v2", 6); !slices.Equal(got, c.want) {
				t.Errorf("calls %v were struck, want %v", got, c.want)
			}
			all, err := m.Faults()
			must(t, err)
			if f := all[0]; f.Seen != 6 || f.Fired != uint64(len(c.want)) {
				t.Errorf("the fault counts %d seen, %d fired", f.Seen, f.Fired)
			}
		})
	}
}

func TestMatchCall(t *testing.T) {
	for glob, want := range map[string]bool{
		"": true, "nvmlDeviceGetMemoryInfo": true, "nvmlDeviceGetMemoryInfo_v2": true, "nvmlDeviceGet*": true,
		"nvmlDeviceGetMemory": false, "nvmlSystem*": false,
	} {
		m := create(t)
		code := sim.Unknown
		must(t, m.Inject(sim.Fault{Match: sim.Match{Call: glob}, Do: sim.Do{Return: &code}}))
		if got := len(ask(m, "nvmlDeviceGetMemoryInfo_v2", 1)) == 1; got != want {
			t.Errorf("glob %q strikes: %t, want %t", glob, got, want)
		}
	}
}

func TestInjectRefuses(t *testing.T) {
	code := sim.Unknown
	m := create(t)
	must(t, m.Inject(sim.Fault{ID: "mine", Do: sim.Do{Hang: true}}))
	for name, c := range map[string]struct {
		f   sim.Fault
		say string
	}{
		"no action":      {sim.Fault{ID: "f"}, "does nothing"},
		"a bad glob":     {sim.Fault{ID: "f", Match: sim.Match{Call: "[" /* never closed */}, Do: sim.Do{Hang: true}}, "glob"},
		"a taken name":   {sim.Fault{ID: "mine", Do: sim.Do{Hang: true}}, "clear it first"},
		"nth and every":  {sim.Fault{ID: "f", When: sim.When{Nth: 1, Every: 1}, Do: sim.Do{Hang: true}}, "exclude"},
		"effect or none": {sim.Fault{ID: "f", Do: sim.Do{Return: &code, CrashAfter: true}}, "no effect"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := m.Inject(c.f); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want one that says %q", err, c.say)
			}
		})
	}
	must(t, m.ClearFault("mine"))
	if err := m.ClearFault("mine"); err == nil {
		t.Error("a fault was cleared twice")
	}
}

// TestInProcessCrash: a crash that unwinds instead of killing leaves the
// machine usable, with the effect of crash-after done.
func TestInProcessCrash(t *testing.T) {
	m := create(t, "A30-24")
	dying, err := sim.Open(m.Dir(), sim.WithCrash(func() { panic("crash") }))
	must(t, err)
	must(t, m.Inject(sim.Fault{Do: sim.Do{CrashAfter: true}}))
	func() {
		defer func() {
			if recover() != "crash" {
				t.Error("the crash did not come")
			}
		}()
		dying.Change(sim.Call{Name: "nvmlDeviceSetPersistenceMode"}, func(s *sim.State) sim.Code {
			s.GPUs[0].Persistence = true
			return sim.Success
		})
	}()
	if !state(t, m).GPUs[0].Persistence {
		t.Error("the effect before the crash is lost")
	}
}

// TestConcurrentHandles has goroutines of one process use handles of their
// own; no count and no event may be lost.
func TestConcurrentHandles(t *testing.T) {
	m := create(t, "A30-24")
	code := sim.Unknown
	must(t, m.Inject(sim.Fault{When: sim.When{Nth: 1000}, Do: sim.Do{Return: &code}}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			other, err := sim.Open(m.Dir())
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				ask(other, "nvmlInit_v2", 1)
				if err := other.XID(0, 31, nil, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := m.Faults()
	must(t, err)
	if s := state(t, m); s.EventSeq != 80 || all[0].Seen != 80 {
		t.Errorf("%d events and %d calls were counted, want 80 of each", s.EventSeq, all[0].Seen)
	}
}

// TestEventsAreBounded: a machine that runs for days keeps the newest events.
func TestEventsAreBounded(t *testing.T) {
	m := create(t, "A30-24")
	for range 300 {
		must(t, m.XID(0, 31, nil, nil))
	}
	s := state(t, m)
	if n := len(s.Events); n != 256 || s.Events[n-1].Seq != 300 {
		t.Errorf("%d events are kept, the last is %d", n, s.Events[n-1].Seq)
	}
}

func TestCodes(t *testing.T) {
	for text, want := range map[string]sim.Code{"GPU_IS_LOST": 15, "NVML_ERROR_GPU_IS_LOST": 15, "ERROR_IN_USE": 19, "NVML_SUCCESS": 0, "42": 42} {
		if got, err := sim.ParseCode(text); err != nil || got != want {
			t.Errorf("%s: %d (%v), want %d", text, got, err, want)
		}
	}
	if _, err := sim.ParseCode("GPU_ON_FIRE"); err == nil {
		t.Error("an unknown name was read")
	}
	if s := sim.Code(77).String(); s != "77" {
		t.Errorf("a code without a name is %q", s)
	}
}
