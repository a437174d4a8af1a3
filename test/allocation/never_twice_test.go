// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/scheduler"
)

// events is how many events one run has, over all its seeds.
const events = 10_000

// history is one random history of a node.
type history struct {
	*testing.T
	*node
	random    *rand.Rand
	scheduler *scheduler.Scheduler
	serial    int
	counts    map[string]int
	// shares is how many there are of a shared device.
	shares map[string]int
}

// The allocator, fed with every state that is ever published, never hands out one
// piece of silicon twice, and no more shares of one than there are: not while claims
// come and go, not across restarts and reboots, policy edits, instances that somebody
// makes by hand, a supervisor that goes away, and gates that go off and on.
func TestSiliconIsNeverHandedOutTwice(t *testing.T) {
	nodes := [][]string{{"H100-80", "H100-80"}, {"A100-40", "H100-80", "T4"}, {"RTX-PRO-6000", "A30-24"}, {"A30-24", "B200-180"}}
	for i, products := range nodes {
		t.Run(strings.Join(products, " "), func(t *testing.T) {
			t.Parallel()
			h := &history{
				T: t, node: newNode(t, products...), random: rand.New(rand.NewSource(int64(i))),
				scheduler: scheduler.New(nodeName, scheduler.Classes{
					"gpu.nvidia.com": scheduler.Class("gpu.nvidia.com", `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"`),
					"share":          scheduler.Class("share", `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu-share"`),
					"mig.nvidia.com": scheduler.Class("mig.nvidia.com", `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"`),
				}), counts: map[string]int{}, shares: map[string]int{},
			}
			if i%2 == 1 { // of two modes that a reset changes, the one with partitions
				h.gpus[0].MIGMode = sharing.MIGMode{On: true, Pending: true}
			}
			for range events / len(nodes) {
				h.event()
			}
			t.Log("events: ", h.counts)
			for _, kind := range []string{"allocated", "prepared", "released", "policy", "restarted", "foreign", "withdrawn", "rebooted", "gates", "share", "shared", "supervisor"} {
				if h.counts[kind] == 0 {
					t.Errorf("no event %q in this history: it proves nothing about it", kind)
				}
			}
		})
	}
}

func (h *history) event() {
	h.now += h.random.Int63n(60)
	if !h.cluster.Can.Partitions && h.random.Intn(8) == 0 {
		h.cluster.Can = sharing.Abilities{Partitions: true, Shares: true}
	}
	switch p := h.random.Intn(100); {
	case p < 40:
		h.allocate()
	case p < 60:
		h.prepareOne()
	case p < 82:
		h.end()
	case p < 88:
		h.edit()
	case p < 90:
		h.restart()
	case p < 95:
		h.somebody()
	case p < 96:
		h.reboot()
	case p < 97:
		h.counts["supervisor"]++
		h.has.MPS.Up = !h.has.MPS.Up
	case p < 98:
		h.counts["gates"]++
		h.cluster.Can = sharing.Abilities{}
	default:
		before := listedCount(h.listed)
		h.withdraw()
		h.counts["withdrawn"] += before - listedCount(h.listed)
	}
	h.disjoint()
}

func listedCount[L any](listed map[string][]L) int {
	n := 0
	for _, l := range listed {
		n += len(l)
	}
	return n
}

// allocate asks for something at random.
func (h *history) allocate() {
	h.serial++
	class := []string{"gpu.nvidia.com", "mig.nvidia.com", "mig.nvidia.com", "share", "share"}[h.random.Intn(5)]
	var conditions []string
	if class == "mig.nvidia.com" && h.random.Intn(4) > 0 {
		prefix := []string{"1g.", "2g.", "3g.", "4g.", "7g."}[h.random.Intn(5)]
		conditions = append(conditions, fmt.Sprintf(`device.attributes["gpu.nvidia.com"].profile.startsWith(%q)`, prefix))
	}
	c := scheduler.Claim(fmt.Sprintf("c%d", h.serial), scheduler.Request("a", class, int64(1+h.random.Intn(2)), conditions...))
	c.UID = types.UID(c.Name)
	got, err := h.scheduler.Allocate(context.Background(), h.look(), slices.Collect(maps.Values(h.claims)), c)
	if err != nil {
		h.Fatal(err)
	}
	if got == nil {
		h.counts["did not fit"]++
		return
	}
	h.counts["allocated"]++
	h.counts[class]++
	c.Status.Allocation = got
	h.claims[c.Name] = c
}

// prepareOne prepares a claim. Somebody may have made an instance in its place
// meanwhile: then it is refused, and nothing happened.
func (h *history) prepareOne() {
	for name, c := range h.claims {
		if _, prepared := h.records[name]; prepared {
			continue
		}
		if err := h.prepare(c); err == nil {
			h.counts["prepared"]++
		} else {
			h.counts["refused"]++
		}
		return
	}
}

// end releases a claim: on the node first, as the kubelet does, then in the
// cluster.
func (h *history) end() {
	names := slices.Sorted(maps.Keys(h.claims))
	if len(names) == 0 {
		return
	}
	name := names[h.random.Intn(len(names))]
	h.release(name)
	delete(h.claims, name)
	h.counts["released"]++
}

func (h *history) edit() {
	h.counts["policy"]++
	choices := [][]v1alpha1.Offer{
		offers(true, false, "*"), offers(true, true), offers(false, true, "1g.10gb", "3g.40gb", "1g.5gb"), offers(false, false, "*"), offers(true, true, "2g.20gb", "2g.48gb"),
		append(offers(true, true, "1g.10gb", "1g.5gb"), shared("half", v1alpha1.MPS, 2), shared("turns", v1alpha1.TimeSlicing, 3)),
		append(offers(true, false), shared("half", v1alpha1.MPS, 3)), {shared("turns", v1alpha1.TimeSlicing, 4)},
		append(offers(false, false, "*"), shared("half", v1alpha1.MPS, 2)),
	}
	p := v1alpha1.SharingPolicy{Spec: v1alpha1.SharingPolicySpec{Offers: choices[h.random.Intn(len(choices))]}}
	p.Name = "p"
	h.cluster.Policies = []v1alpha1.SharingPolicy{p}
}

// restart forgets what is not in the journal, which is nothing of this node.
func (h *history) restart() {
	h.counts["restarted"]++
	h.now += 30
}

// somebody makes or destroys an instance by hand.
func (h *history) somebody() {
	g := &h.gpus[h.random.Intn(len(h.gpus))]
	if g.MIG == nil {
		return
	}
	all := g.MIG.Geometry.Partitions()
	if h.random.Intn(2) == 0 {
		before := len(g.Instances)
		h.foreign(g, all[h.random.Intn(len(all))])
		h.counts["foreign"] += len(g.Instances) - before
		return
	}
	ours := h.ours(g.Minor)
	g.Instances = slices.DeleteFunc(slices.Clone(g.Instances), func(i sharing.Instance) bool { return !ours[i.Start] })
}

// ours are the starts of the instances that claims have.
func (h *history) ours(minor int) map[int]bool {
	out := map[int]bool{}
	for _, hold := range h.holds() {
		for _, s := range h.of(h, hold.Slot) {
			if s.gpu == fmt.Sprintf("gpu-%d", minor) {
				out[s.slice] = true
			}
		}
	}
	return out
}

// reboot ends every container and every instance. Claims stay allocated: their
// pods start again.
func (h *history) reboot() {
	h.counts["rebooted"]++
	h.boot++
	clear(h.records)
	for i := range h.gpus {
		h.gpus[i].Instances = nil
		if g := &h.gpus[i]; g.MIG != nil && g.MIG.Switchable {
			g.MIGMode.On, g.MIGMode.Pending = false, false
		}
	}
}

// disjoint is the property.
func (h *history) disjoint() {
	h.Helper()
	owner := map[silicon]string{}
	shares := map[string]int{}
	for name, s := range sharing.SharedSlots(h.listed) {
		h.shares[name] = s.Shares // and what was once listed keeps what it had
	}
	for _, name := range slices.Sorted(maps.Keys(h.claims)) {
		for _, r := range h.claims[name].Status.Allocation.Devices.Results {
			who := name + " (" + r.Device + ")"
			if r.ShareID != nil {
				who = r.Device // whose sharers own it together
				if shares[r.Device]++; shares[r.Device] > h.shares[r.Device] {
					h.Fatalf("%d shares of %s are allocated, and it has %d", shares[r.Device], r.Device, h.shares[r.Device])
				}
				h.counts["shared"] = max(h.counts["shared"], shares[r.Device]-1)
			}
			for _, s := range h.of(h, r.Device) {
				if other, taken := owner[s]; taken && other != who {
					h.Fatalf("memory slice %d of %s is allocated to %s and to %s", s.slice, s.gpu, other, who)
				}
				owner[s] = who
			}
		}
	}
}
