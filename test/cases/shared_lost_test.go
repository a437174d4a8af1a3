// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"os"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// lost makes a GPU one that does not answer, until the faults are cleared.
func (n *node) lost(gpu int, device string) {
	n.t.Helper()
	ok(n.t, n.machine.Inject(sim.Fault{ID: "lost", Match: sim.Match{Call: "nvmlDeviceGetUUID", GPU: new(gpu)}, Do: sim.Do{Return: new(sim.GPUIsLost)}}))
	n.awaitTaint(device, "gpu.nvidia.com/gpu-lost")
}

// Sharers that end while their GPU does not answer leave nothing behind
// (dra-driver-nvidia-gpu#1262: a GPU left in exclusive mode).
func TestSharersEndWhileTheGPUIsLost(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
	n.awaitShares("quarter")
	a, b := n.schedule("a", of("r", "quarter")), n.schedule("b", of("r", "quarter"))
	for _, c := range []*resourceapi.ResourceClaim{a, b} {
		_, err := n.P(c)
		ok(t, err)
	}
	n.lost(0, deviceOf(a))
	ok(t, n.U(a))
	ok(t, n.U(b))
	same(t, "daemons after the last", len(n.daemons.running()), 0)
	ok(t, n.machine.ClearFaults())
	n.await(func() string {
		if got := n.records(); len(got) > 0 {
			return fmt.Sprint("records ", got)
		}
		return ""
	})
	same(t, "compute mode at the end", n.compute(0), sim.ComputeDefault)
}

// A lost journal beside a spec that nobody can read: what the others tell is taken
// back all the same, and the node comes back into service.
func TestLostJournalAndAGarbledSpec(t *testing.T) {
	for _, order := range []string{"garbled first", "garbled last"} {
		t.Run(order, func(t *testing.T) {
			n := newSharedNode(t, []string{"H100-80", "H100-80"}, wholeGPU(), quarterByMPS())
			n.check = checkInChild
			n.awaitShares("quarter")
			a, b := n.schedule("a", of("r", "quarter")), n.schedule("b", of("r", "quarter"))
			whole := n.schedule("whole", wholes("r", 1))
			for _, c := range []*resourceapi.ResourceClaim{a, b, whole} {
				_, err := n.P(c)
				ok(t, err)
			}
			if order == "garbled first" {
				a, whole = whole, a
			}
			n.stop()
			for _, c := range []*resourceapi.ResourceClaim{a, b, whole} {
				n.deleteClaim(c)
			}
			ok(t, os.WriteFile(n.cdiFile(whole), []byte(`{"kind":"k8s.gpu.nvi`), 0o644))
			ok(t, os.WriteFile(n.paths.Journal(), []byte("not a journal"), 0o600))
			n.start()
			n.await(func() string {
				if files, records := n.cdiFiles(), n.records(); len(files)+len(records) > 0 {
					return fmt.Sprint("specs ", files, ", records ", records)
				}
				return ""
			})
			n.awaitDevices("gpu-0", "gpu-0-quarter-9fb0", "gpu-1", "gpu-1-quarter-9fb0")
			same(t, "daemons", len(n.daemons.running()), 0)
			same(t, "compute modes", []int{n.compute(0), n.compute(1)}, []int{sim.ComputeDefault, sim.ComputeDefault})
		})
	}
}

// What is owed on a GPU that was lost across a reload of the driver was the default
// then, whatever it was before.
func TestReloadWhileSomethingIsOwed(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, eighthInTurns("Long"))
	n.preset(0, func(g *sim.GPU) { g.TimeSlice, g.ComputeMode = 2, sim.ComputeProhibited })
	n.awaitShares("eighth")
	c := n.schedule("c", of("r", "eighth"))
	_, err := n.P(c)
	ok(t, err)
	n.lost(0, deviceOf(c))
	ok(t, n.U(c))
	ok(t, n.machine.ReloadDriver())
	ok(t, n.machine.ClearFaults())
	n.await(func() string {
		if got := n.records(); len(got) > 0 {
			return fmt.Sprint("records ", got)
		}
		return ""
	})
	same(t, "interval and compute mode", []int{n.turns(0), n.compute(0)}, []int{0, sim.ComputeDefault})
}
