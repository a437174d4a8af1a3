// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// TestProcessEndsByItself: a real process leaves the GPU when it dies.
func TestProcessEndsByItself(t *testing.T) {
	m := create(t, "A30-24")
	cmd := exec.Command("sleep", "600")
	must(t, cmd.Start())
	must(t, m.AddProcess(sim.Process{PID: cmd.Process.Pid, MemoryMiB: 512}))
	s := state(t, m)
	if n := s.UsedMiB(s.GPUs[0].UUID); n != 512 || len(s.On(s.GPUs[0].UUID, sim.Compute)) != 1 {
		t.Errorf("the process is not on the GPU: %d MiB", n)
	}
	must(t, cmd.Process.Kill())
	if _, err := cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	if s := state(t, m); len(s.Processes) != 0 {
		t.Errorf("after its end %+v is still there", s.Processes)
	}
}

func TestProcessRefusals(t *testing.T) {
	m := create(t, "A30-24", "T4")
	must(t, m.AddProcess(sim.Process{PID: 5, GPU: 0, Virtual: true}))
	must(t, m.AddProcess(sim.Process{PID: 5, GPU: 1, Virtual: true}))
	must(t, m.LoseGPU(1))
	if n := len(state(t, m).Processes); n != 1 {
		t.Errorf("%d processes after a loss, want the one of the other GPU", n)
	}
	for name, c := range map[string]struct {
		p   sim.Process
		say string
	}{
		"twice on a GPU":       {sim.Process{PID: 5, Virtual: true}, "already"},
		"not running":          {sim.Process{PID: 1 << 30}, "not running"},
		"no such GPU":          {sim.Process{PID: 6, GPU: 2, Virtual: true}, "no GPU 2"},
		"on a lost GPU":        {sim.Process{PID: 6, GPU: 1, Virtual: true}, "off the bus"},
		"an unknown kind":      {sim.Process{PID: 6, Kind: "X", Virtual: true}, "kind"},
		"more than the memory": {sim.Process{PID: 6, MemoryMiB: 1 << 20, Virtual: true}, "more than it has"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := m.AddProcess(c.p); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("error %v, want one that says %q", err, c.say)
			}
		})
	}
	if err := m.KillProcess(6); err == nil {
		t.Error("a process that is not there was killed")
	}
	must(t, m.KillProcess(5))
}
