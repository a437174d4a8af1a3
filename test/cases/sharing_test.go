// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// Four claims of as many namespaces share a GPU by MPS, each within its limits; the
// fifth goes to the next GPU, a whole GPU is had by nobody meanwhile, and after the
// last everything is as it was.
func TestSharesByMPS(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80", "H100-80"}, wholeGPU(), quarterByMPS())
	n.awaitShares("quarter")
	var claims []*resourceapi.ResourceClaim
	for i := range 5 {
		claims = append(claims, n.schedule(fmt.Sprint("c", i), of("r", "quarter")))
	}
	for i, c := range claims {
		want := "gpu-1" // shares fill the node from its end
		if i == 4 {
			want = "gpu-0"
		}
		same(t, "GPU of "+c.Name, sharing.GPUOf(deviceOf(c)), want)
		got, err := n.P(c)
		ok(t, err)
		same(t, "share id of "+c.Name, got[0].GetShareId(), string(*c.Status.Allocation.Devices.Results[0].ShareID))
		same(t, "CDI id of "+c.Name, got[0].CdiDeviceIds, []string{"k8s.gpu.nvidia.com/claim=" + string(c.UID) + "-" + deviceOf(c)})
	}
	slot := deviceOf(claims[0])
	same(t, "the daemon", n.daemons.running()[slot], sharing.Daemon{
		ID: slot, UUIDs: []string{n.gpuState(1).UUID}, ActiveThreads: 25, PinnedMiB: []int64{19752}, MultiUser: true})
	same(t, "compute modes", []int{n.compute(0), n.compute(1)}, []int{sim.ComputeExclusiveProcess, sim.ComputeExclusiveProcess})
	if c := n.schedule("whole", wholes("r", 1)); c != nil {
		t.Errorf("a whole GPU beside shares: %v", where(c))
	}
	for i, c := range claims {
		n.finish(c)
		started, stopped := n.daemons.counted()
		want := [2]int{2, 0}
		if i == 3 {
			want[1] = 1
		} else if i == 4 {
			want[1] = 2
		}
		same(t, fmt.Sprintf("daemons started and stopped after %d releases", i+1), [2]int{started, stopped}, want)
	}
	same(t, "compute modes at the end", []int{n.compute(0), n.compute(1)}, []int{sim.ComputeDefault, sim.ComputeDefault})
	same(t, "records at the end", n.records(), map[string]string{})
	whole := n.schedule("whole", wholes("r", 2))
	_, err := n.P(whole)
	ok(t, err)
}

// Eight claims take turns on a GPU, with the interval that their offer has.
func TestSharesInTurns(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, wholeGPU(), eighthInTurns("Short"))
	n.awaitShares("eighth")
	var claims []*resourceapi.ResourceClaim
	for i := range 8 {
		c := n.schedule(fmt.Sprint("c", i), of("r", "eighth"))
		_, err := n.P(c)
		ok(t, err)
		claims = append(claims, c)
		same(t, "interval", n.turns(0), 1)
	}
	if c := n.schedule("ninth", of("r", "eighth")); c != nil {
		t.Errorf("a ninth share: %v", where(c))
	}
	for i, c := range claims {
		same(t, fmt.Sprintf("interval after %d releases", i), n.turns(0), 1)
		n.finish(c)
	}
	same(t, "interval at the end", n.turns(0), 0)
	same(t, "times that it was set", n.machine.Calls("nvidia-smi compute-policy --set-timeslice"), 2)
}

// The value before is restored with the last claim, across restarts of the plugin
// and whoever came first.
func TestSettingsBeforeAreRestored(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, eighthInTurns("Short"))
	n.preset(0, func(g *sim.GPU) { g.TimeSlice, g.ComputeMode = 3, sim.ComputeProhibited })
	n.awaitShares("eighth")
	a, b := n.schedule("a", of("r", "eighth")), n.schedule("b", of("r", "eighth"))
	_, err := n.P(a)
	ok(t, err)
	n.restart()
	_, err = n.P(b)
	ok(t, err)
	n.finish(a)
	n.restart()
	same(t, "while b is there", []int{n.turns(0), n.compute(0)}, []int{1, sim.ComputeDefault})
	n.finish(b)
	same(t, "at the end", []int{n.turns(0), n.compute(0)}, []int{3, sim.ComputeProhibited})
}

// One claim with two requests may have two shares of one GPU: its containers are told
// the same, and one of them is not the other's.
func TestTwoSharesOfOneClaim(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
	n.awaitShares("quarter")
	c := n.schedule("c", of("x", "quarter"), of("y", "quarter"))
	got, err := n.P(c)
	ok(t, err)
	if len(got) != 2 || got[0].GetShareId() == got[1].GetShareId() || !slices.Equal(got[0].CdiDeviceIds, got[1].CdiDeviceIds) {
		t.Errorf("devices %v", got)
	}
	holds, err := n.store.Holds("gpu-0")
	ok(t, err)
	same(t, "shares held", len(holds), 2)
	for i := range 2 {
		_, err := n.P(n.schedule(fmt.Sprint("d", i), of("r", "quarter")))
		ok(t, err)
	}
	same(t, "a fifth share", n.schedule("e", of("r", "quarter")), (*resourceapi.ResourceClaim)(nil))
	n.finish(c)
	same(t, "holds after it", len(n.records()), 2)
}

// Whatever the scheduler says, no more shares are handed out than there are, and no
// other device of the GPU.
func TestSharesAreCountedOnTheNodeToo(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, wholeGPU(), quarterByMPS(), eighthInTurns(""))
	n.awaitShares("quarter", "eighth")
	first := n.schedule("c0", of("r", "quarter"))
	other := n.schedule("other", of("r", "eighth")) // the scheduler has not heard of it below
	same(t, "the other way of sharing beside the first", other, (*resourceapi.ResourceClaim)(nil))
	slot := deviceOf(first)
	_, err := n.P(first)
	ok(t, err)
	for i := 1; i < 4; i++ {
		_, err := n.P(n.shareClaim(fmt.Sprint("c", i), slot))
		ok(t, err)
	}
	_, err = n.P(n.shareClaim("c4", slot))
	refused(t, err, "all 4 shares of "+slot)
	_, err = n.P(n.claim("whole", "gpu-0"))
	refused(t, err, "gpu-0 is held by way of "+slot)
	for name := range n.devices() {
		if strings.HasPrefix(name, "gpu-0-eighth") {
			_, err = n.P(n.shareClaim("turns", name))
			refused(t, err, name+" is held by way of "+slot)
		}
	}
	same(t, "daemons", len(n.daemons.running()), 1)
	n.restart()
	_, err = n.P(n.shareClaim("c5", slot))
	refused(t, err, "all 4 shares")
}

// An edited offer is another device; who has a share of the old one keeps it, and
// the GPU is not handed out both ways.
func TestEditedOfferRetiresItsShares(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
	n.awaitShares("quarter")
	old := n.schedule("old", of("r", "quarter"))
	_, err := n.P(old)
	ok(t, err)
	edited := quarterByMPS()
	edited.Sharing.MemoryPerShare = "12Gi"
	n.kinds.set(policy("shared", edited))
	n.await(func() string {
		if d := n.devices(); len(d) != 2 || len(d[deviceOf(old)].Taints) != 1 {
			return fmt.Sprintf("published: %v", d)
		}
		return ""
	})
	if c := n.schedule("new", of("r", "quarter")); c != nil {
		t.Errorf("a share of the new size beside one of the old: %s", deviceOf(c))
	}
	n.restart()
	same(t, "the old daemon's limit", n.daemons.running()[deviceOf(old)].PinnedMiB, []int64{19752})
	n.finish(old)
	fresh := n.schedule("new", of("r", "quarter"))
	_, err = n.P(fresh)
	ok(t, err)
	same(t, "the new daemon's limit", n.daemons.running()[deviceOf(fresh)].PinnedMiB, []int64{12288})
}

// Many sharers at once: one daemon, one change of the mode, and the same at the end
// (kubernetes/kubernetes#129442, check-then-act). The MPS part of F95.
func TestF95SharesAtOnce(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, wholeGPU(), quarterByMPS())
	n.awaitShares("quarter")
	for round := range 20 {
		first := n.schedule(fmt.Sprint("a", round), of("r", "quarter"))
		claims := []*resourceapi.ResourceClaim{first}
		for i := range 5 { // one more than there are shares, and the whole GPU
			claims = append(claims, n.shareClaim(fmt.Sprint("b", round, "-", i), deviceOf(first)))
		}
		claims = append(claims, n.claim(fmt.Sprint("w", round), "gpu-0"))
		errs := make([]error, len(claims))
		var all sync.WaitGroup
		for i, c := range claims {
			all.Go(func() { _, errs[i] = n.P(c) })
			all.Go(func() { _, _ = n.P(c) })
		}
		all.Wait()
		shares, wholes := 0, 0
		for i, err := range errs {
			if err == nil && i == len(errs)-1 {
				wholes++
			} else if err == nil {
				shares++
			}
		}
		if !(wholes == 1 && shares == 0 || wholes == 0 && shares == 4) {
			t.Fatalf("round %d: %d shares and %d whole GPUs: %v", round, shares, wholes, errs)
		}
		for _, c := range claims {
			all.Go(func() { _ = n.U(c) }) // and once more below, one after the other
		}
		all.Wait()
		for _, c := range claims {
			ok(t, n.U(c))
			n.deleteClaim(c)
		}
		started, stopped := n.daemons.counted()
		if started != stopped || len(n.daemons.running()) != 0 || n.compute(0) != sim.ComputeDefault {
			t.Fatalf("round %d: %d daemons started, %d stopped, compute mode %d", round, started, stopped, n.compute(0))
		}
	}
}

// A daemon that died is said everywhere: a taint while it does not serve, GPUNode,
// and an event to each claim whose containers were its clients. Who comes meanwhile
// waits; who goes, goes.
func TestBrokenDaemonIsSaid(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
	n.awaitShares("quarter")
	a, b := n.schedule("a", of("r", "quarter")), n.schedule("b", of("r", "quarter"))
	for _, c := range []*resourceapi.ResourceClaim{a, b} {
		_, err := n.P(c)
		ok(t, err)
	}
	slot := deviceOf(a)
	writes := n.writes.count()
	n.daemons.kill(slot, "it ended: signal: killed")
	n.awaitTaint(slot, "cotenant.dev/broken")
	n.await(func() string {
		status, _ := n.kinds.reported()
		if s := status.GPUs[0].Shares[0]; s.Broken != "it ended: signal: killed" || s.Restarts != 1 {
			return fmt.Sprintf("GPUNode: %+v", s)
		}
		events, err := n.client.CoreV1().Events("ns").List(t.Context(), metav1.ListOptions{})
		ok(t, err)
		about := map[string]string{}
		for _, e := range events.Items {
			about[e.InvolvedObject.Kind+" "+e.InvolvedObject.Name] = e.Reason
		}
		if len(about) != 2 || about["ResourceClaim a"] != "GPUNeighbourFault" || about["ResourceClaim b"] != "GPUNeighbourFault" {
			return fmt.Sprintf("events: %v", about)
		}
		return ""
	})
	if c := n.schedule("c", of("r", "quarter")); c != nil {
		t.Errorf("%s is handed out though its daemon is dead", deviceOf(c))
	}
	n.finish(b)
	n.daemons.restore(slot)
	n.awaitDevices(slot)
	same(t, "writes for going and coming", n.writes.count()-writes, 2)
	_, err := n.P(n.schedule("d", of("r", "quarter")))
	ok(t, err)
	started, _ := n.daemons.counted()
	same(t, "daemons started", started, 1)

	n.daemons.set(func(d *daemons) { d.sup.Up, d.sup.Why = false, "nothing listens" })
	n.awaitTaint(slot, "cotenant.dev/broken")
	_, err = n.P(n.shareClaim("e", slot))
	refused(t, err, "nothing listens")
	same(t, "records", len(n.records()), 2)
	n.daemons.set(func(d *daemons) { d.sup.Up, d.sup.Why = true, "" })
	n.awaitDevices(slot)
}

// A reboot ends daemons and settings: the records are forgotten, and who is prepared
// again has everything made again, of which the value before is the new one.
func TestRebootWithShares(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80", "H100-80"}, quarterByMPS(), eighthInTurns("Long"))
	n.awaitShares("quarter", "eighth")
	n.preset(0, func(g *sim.GPU) { g.TimeSlice = 2 })
	a, b := n.schedule("a", of("r", "quarter")), n.schedule("b", of("r", "eighth"))
	for _, c := range []*resourceapi.ResourceClaim{a, b} {
		_, err := n.P(c)
		ok(t, err)
	}
	n.daemons.set(func(d *daemons) { d.wanted, d.sup.Daemons = map[string]sharing.Daemon{}, nil })
	n.reboot()
	same(t, "records after the reboot", n.records(), map[string]string{})
	ok(t, n.U(b)) // its pod is gone
	n.deleteClaim(b)
	_, err := n.P(a)
	ok(t, err)
	same(t, "compute mode", n.compute(1), sim.ComputeExclusiveProcess)
	b = n.schedule("b2", of("r", "eighth"))
	_, err = n.P(b)
	ok(t, err)
	same(t, "interval", n.turns(0), 3)
	n.finish(a)
	n.finish(b)
	same(t, "at the end", []int{n.turns(0), n.compute(0), n.compute(1)}, []int{0, sim.ComputeDefault, sim.ComputeDefault})
}

// A reload of the driver makes settings the default: they are made again for who is
// there, and what is restored afterwards is the default, not what was before.
func TestDriverReloadWithShares(t *testing.T) {
	for name, stopped := range map[string]bool{"while it runs": false, "while it is stopped": true} {
		t.Run(name, func(t *testing.T) {
			n := newSharedNode(t, []string{"H100-80"}, eighthInTurns("Long"))
			n.preset(0, func(g *sim.GPU) { g.TimeSlice, g.ComputeMode = 2, sim.ComputeProhibited })
			n.awaitShares("eighth")
			c := n.schedule("c", of("r", "eighth"))
			_, err := n.P(c)
			ok(t, err)
			if stopped {
				n.stop()
			}
			ok(t, n.machine.ReloadDriver())
			if stopped {
				n.start()
			}
			n.await(func() string {
				if n.turns(0) != 3 || n.compute(0) != sim.ComputeDefault {
					return fmt.Sprintf("interval %d, compute mode %d", n.turns(0), n.compute(0))
				}
				return ""
			})
			_, err = n.P(c)
			ok(t, err)
			n.finish(c)
			same(t, "at the end", []int{n.turns(0), n.compute(0)}, []int{0, sim.ComputeDefault})
		})
	}
}
