// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// sharers are claims with a share of one GPU, prepared.
func (n *node) sharers(offer string, names ...string) []*resourceapi.ResourceClaim {
	n.t.Helper()
	n.awaitShares(offer)
	var all []*resourceapi.ResourceClaim
	for _, name := range names {
		c := n.schedule(name, of("r", offer))
		_, err := n.P(c)
		ok(n.t, err)
		all = append(all, c)
	}
	return all
}

// What of a sharer cannot be undone keeps nobody from the slot, and is not undone under
// who came meanwhile. The last of them undoes it, whichever that is.
func TestSharerWhoseEndFails(t *testing.T) {
	for _, last := range []string{"who failed", "who came"} {
		t.Run(last, func(t *testing.T) {
			n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
			n.preset(0, func(g *sim.GPU) { g.ComputeMode = sim.ComputeProhibited })
			a := n.sharers("quarter", "a")[0]
			slot := deviceOf(a)
			n.daemons.set(func(d *daemons) { d.busy = api.Errorf(api.InUse, "it has 1 client") })
			refused(t, n.U(a), "it has 1 client")
			same(t, "records", n.records(), map[string]string{string(a.UID): "releasing"})
			b := n.shareClaim("b", slot)
			_, err := n.P(b)
			ok(t, err)
			n.daemons.set(func(d *daemons) { d.busy = nil })
			first, second := a, b
			if last == "who failed" {
				first, second = b, a
			}
			ok(t, n.U(first))
			same(t, "daemons while one is left", len(n.daemons.running()), 1)
			same(t, "mode while one is left", n.compute(0), sim.ComputeExclusiveProcess)
			ok(t, n.U(second))
			same(t, "daemons", len(n.daemons.running()), 0)
			same(t, "mode", n.compute(0), sim.ComputeProhibited)
			same(t, "records at the end", n.records(), map[string]string{})
		})
	}
}

// A sharer that is released while its daemon starts takes it away from nobody: who
// waits for the GPU starts it again.
func TestReleaseDuringTheStart(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
	n.awaitShares("quarter")
	a := n.schedule("a", of("r", "quarter"))
	b := n.shareClaim("b", deviceOf(a))
	serve := n.daemons.hang(deviceOf(a))
	errs := map[string]chan error{"a": make(chan error, 1), "b": make(chan error, 1)}
	prepare := func(c *resourceapi.ResourceClaim) {
		go func() { _, err := n.P(c); errs[c.Name] <- err }()
	}
	prepare(a)
	n.await(func() string {
		if len(n.daemons.running()) == 0 {
			return "the daemon was not started"
		}
		return ""
	})
	prepare(b)
	ok(t, n.U(a))
	refused(t, <-errs["a"], "released while it was being prepared")
	serve()
	ok(t, <-errs["b"])
	same(t, "records", n.records(), map[string]string{string(b.UID): "prepared"})
	same(t, "daemons", len(n.daemons.running()), 1)
	same(t, "mode", n.compute(0), sim.ComputeExclusiveProcess)
	ok(t, n.U(b))
	started, stopped := n.daemons.counted()
	same(t, "daemons started and stopped", []int{started, stopped}, []int{2, 2})
	same(t, "mode at the end", n.compute(0), sim.ComputeDefault)
}

// An admin who switches MIG mode on under an idle shared GPU: where that can be taken
// back without a reset it is, and where not, nobody comes and everybody goes.
func TestMIGModeUnderSharers(t *testing.T) {
	for product, switchable := range map[string]bool{"H100-80": true, "A100-40": false} {
		t.Run(product, func(t *testing.T) {
			n := newSharedNode(t, []string{product}, eighthInTurns("Short"))
			a := n.sharers("eighth", "a")[0]
			slot := deviceOf(a)
			ok(t, n.machine.SetMIG(0, true))
			n.await(func() string {
				status, _ := n.kinds.reported()
				if got := status.GPUs[0].MIGMode; !switchable && got != "Enabled" {
					return "GPUNode: MIG mode " + got
				}
				return ""
			})
			b := n.shareClaim("b", slot)
			_, err := n.P(b)
			if switchable {
				ok(t, err)
				same(t, "MIG mode", n.mode(0).Current, false)
				_, err = n.P(a)
				ok(t, err)
				ok(t, n.U(b))
			} else {
				refused(t, err, "needs a reset")
			}
			ok(t, n.U(a))
			same(t, "records", n.records(), map[string]string{})
		})
	}
}

// A start of the plugin with many sharers looks at all of them and changes nothing.
func TestRestartWithManySharers(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80", "H100-80"}, quarterByMPS(), eighthInTurns(""))
	var all []*resourceapi.ResourceClaim
	for _, offer := range []string{"quarter", "eighth"} {
		count := map[string]int{"quarter": 4, "eighth": 8}[offer]
		for i := range count {
			all = append(all, n.sharers(offer, fmt.Sprint(offer, i))...)
		}
	}
	settings := func() int { return n.machine.Calls("nvmlDeviceSetComputeMode") + n.machine.Calls(setTurns) }
	before, writes := settings(), n.writes.count()
	answers := map[string]string{}
	for _, c := range all {
		got, err := n.P(c)
		ok(t, err)
		answers[c.Name] = asJSON(t, got)
	}
	for range 2 {
		n.restart()
		var every sync.WaitGroup
		for _, c := range all {
			every.Go(func() {
				if got, err := n.P(c); err != nil || asJSON(t, got) != answers[c.Name] {
					t.Errorf("%s is answered %v, %v; before it was %s", c.Name, got, err, answers[c.Name])
				}
			})
		}
		every.Wait()
	}
	started, stopped := n.daemons.counted()
	same(t, "daemons started and stopped", []int{started, stopped}, []int{1, 0})
	same(t, "settings changed", settings()-before, 0)
	same(t, "slices written", n.writes.count()-writes, 0)
	for _, c := range all {
		ok(t, n.U(c))
	}
	same(t, "records", n.records(), map[string]string{})
}

// A plugin that is killed while the second sharer comes or the first one goes leaves
// the other one what it has, and the GPU as it was after both.
func TestKilledBetweenSharers(t *testing.T) {
	for _, c := range []struct {
		what  string
		crash func(n *node, a, b *resourceapi.ResourceClaim) error
	}{
		{"the first comes", func(n *node, a, b *resourceapi.ResourceClaim) error { _, err := n.P(a); return err }},
		{"the last goes", func(n *node, a, b *resourceapi.ResourceClaim) error {
			for _, c := range []*resourceapi.ResourceClaim{a, b} {
				if _, err := n.P(c); err != nil {
					return err
				}
			}
			if err := n.U(a); err != nil {
				return err
			}
			return n.U(b)
		}},
	} {
		for nth := range uint64(2) {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, change %d, after %t", c.what, nth+1, after), func(t *testing.T) {
					n := newSharedNode(t, []string{"H100-80"}, quarterByMPS())
					n.preset(0, func(g *sim.GPU) { g.ComputeMode = sim.ComputeProhibited })
					n.awaitShares("quarter")
					a := n.schedule("a", of("r", "quarter"))
					b := n.shareClaim("b", deviceOf(a))
					ok(t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetComputeMode"}, When: sim.When{Nth: nth + 1}, Do: sim.Do{CrashBefore: !after, CrashAfter: after}}))
					if err := c.crash(n, a, b); err != nil {
						refused(t, err, "killed")
					}
					n.restart()
					ok(t, n.machine.ClearFaults())
					_, err := n.P(b)
					ok(t, err)
					ok(t, n.U(a))
					same(t, "mode while one is left", n.compute(0), sim.ComputeExclusiveProcess)
					same(t, "daemons while one is left", len(n.daemons.running()), 1)
					ok(t, n.U(b))
					same(t, "mode", n.compute(0), sim.ComputeProhibited)
					same(t, "daemons", len(n.daemons.running()), 0)
					same(t, "records", n.records(), map[string]string{})
				})
			}
		}
	}
}
