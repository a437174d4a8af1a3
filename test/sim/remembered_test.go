// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// TestStatesAreOnesOwn: what a reader does to its state reaches neither the
// machine nor another reader, although a handle remembers what it read.
func TestStatesAreOnesOwn(t *testing.T) {
	m := partitioned(t, sim.Config{}, "H100-80")
	must(t, m.CreateInstance(0, 9, 0, true))
	must(t, m.AddProcess(sim.Process{PID: 3, GI: new(1), CI: new(0), Virtual: true}))
	must(t, m.XID(0, 31, nil, nil))
	want := state(t, m)
	mine := state(t, m)
	mine.GPUs[0].GIs[0].CIs[0].UUID = "mine"
	mine.GPUs[0].GIs[0].ID = 99
	mine.GPUs[0].UUID = "mine"
	mine.Processes[0].PID = 99
	mine.Events[0].Data = 99
	if diff := cmp.Diff(want, state(t, m)); diff != "" {
		t.Errorf("one reader's changes reached another: %s", diff)
	}
}

// TestRefusedChangesLeaveNothing: what a refused call had already changed in its
// state is not what the next call sees.
func TestRefusedChangesLeaveNothing(t *testing.T) {
	m := partitioned(t, sim.Config{}, "H100-80")
	want := state(t, m)
	m.Change(sim.Call{Name: "change"}, func(s *sim.State) sim.Code {
		if _, code := s.CreateGI(&s.GPUs[0], 19, new(0)); code != sim.Success {
			t.Error(code)
		}
		return sim.InUse
	})
	if diff := cmp.Diff(want, state(t, m)); diff != "" {
		t.Errorf("the refused call left: %s", diff)
	}
}

// TestHandlesRememberNothingOld: a handle sees what another did in between.
func TestHandlesRememberNothingOld(t *testing.T) {
	m := partitioned(t, sim.Config{}, "H100-80")
	other, err := sim.Open(m.Dir())
	must(t, err)
	for start := range 7 {
		must(t, []*sim.Machine{m, other}[start%2].CreateInstance(0, 19, start, true))
		must(t, other.Check())
		must(t, m.Check())
		if n := len(state(t, m).GPUs[0].GIs); n != start+1 {
			t.Errorf("%d instances after %d were made", n, start+1)
		}
	}
}
