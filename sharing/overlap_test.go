// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
)

// part is a partition that a claim has, for the model.
type part struct {
	claim string
	mig.Partition
}

// Whatever claims ask for in whatever order, and whatever somebody makes by hand
// meanwhile: of different claims, no two have a memory slice in common, none has
// a part of a whole GPU that another has, and all that is made fits beside
// everything else on the GPU.
func TestNoTwoClaimsHoldOnePieceOfSilicon(t *testing.T) {
	products := []string{"H100-80", "A100-40", "RTX-PRO-6000", "A30-24"}
	devices := map[string]Device{}
	for i, p := range products {
		d := divisible(t, p, fmt.Sprintf("gpu-%d", i))
		if !d.MIG.Switchable {
			d = d.on()
		}
		devices[d.Name] = d
	}
	rapid.Check(t, func(t *rapid.T) {
		d := devices[rapid.SampledFrom(keys(devices)).Draw(t, "gpu")]
		if rapid.Bool().Draw(t, "somebody was there") {
			p := rapid.SampledFrom(d.MIG.Geometry.Partitions()).Draw(t, "somebody's")
			d = d.on(Instance{Partition: p, Foreign: true, UUID: rapid.SampledFrom([]string{"MIG-1", ""}).Draw(t, "uuid")})
		}
		node := Node{Pool: "n1", Devices: map[string]Device{d.Name: d}, Slots: twoShared(d)}
		records := map[string]Record{}
		for i := range rapid.IntRange(1, 25).Draw(t, "operations") {
			if len(records) > 0 && rapid.IntRange(0, 2).Draw(t, "release") == 0 {
				delete(records, rapid.SampledFrom(keys(records)).Draw(t, "which"))
				continue
			}
			c := Claim{UID: fmt.Sprintf("c%d", i), Asks: rapid.SliceOfN(askOf(d), 1, 3).Draw(t, "asks")}
			for j := range c.Asks {
				c.Asks[j].Share = fmt.Sprintf("s%d-%d", i, j)
			}
			node.Holds = holdsOf(records)
			if rec, err := Acquire(node, c); err == nil {
				records[c.UID] = rec
			}
			disjoint(t, d, records)
		}
	})
}

// twoShared are two shared slots of a device.
func twoShared(d Device) map[string]Shared {
	out := map[string]Shared{}
	for _, s := range []Shared{
		{Offer: "half", Mode: v1alpha1.MPS, Shares: 2, MemoryMiB: 1, ActiveThreads: 50},
		{Offer: "turns", Mode: v1alpha1.TimeSlicing, Shares: 3, Interval: nvidia.Short},
	} {
		out[ShareName(d.Name, s)] = s
	}
	return out
}

// askOf draws a partition of the device, or all of it, alone or shared, by a name
// that it has, or that it had with another driver.
func askOf(d Device) *rapid.Generator[Ask] {
	return rapid.Custom(func(t *rapid.T) Ask {
		ask := Ask{Request: "r", Device: d.Name, Admin: rapid.IntRange(0, 9).Draw(t, "admin") == 0}
		if rapid.IntRange(0, 5).Draw(t, "whole") > 0 {
			p := rapid.SampledFrom(d.MIG.Geometry.Partitions()).Draw(t, "partition")
			profile, _ := d.MIG.Geometry.Profile(p.Profile)
			profile.Name = rapid.SampledFrom([]string{profile.Name, "1g.1gb"}).Draw(t, "name")
			ask.Device = PartitionName(d.Name, profile, p.Start)
		} else if rapid.Bool().Draw(t, "shared") {
			ask.Device = rapid.SampledFrom(keys(twoShared(d))).Draw(t, "slot")
		}
		return ask
	})
}

// disjoint is the property. It reads the holds' names itself.
func disjoint(t *rapid.T, d Device, records map[string]Record) {
	var whole []string
	var parts []part
	shares := map[string]int{}
	for _, h := range holdsOf(records) {
		if h.Admin {
			continue
		}
		if h.Slot == d.Name {
			whole = append(whole, h.Claim)
			continue
		}
		if s, shared := twoShared(d)[h.Slot]; shared {
			if shares[h.Slot]++; shares[h.Slot] > s.Shares {
				t.Fatalf("%d shares of %s are held, and it has %d", shares[h.Slot], h.Slot, s.Shares)
			}
			continue
		}
		parts = append(parts, part{claim: h.Claim, Partition: named(t, d, h.Slot)})
	}
	if len(whole) > 1 || len(whole) == 1 && len(parts)+len(d.Instances) > 0 {
		t.Fatalf("the whole GPU is held by %v, parts by %v, and it has %v", whole, parts, d.Instances)
	}
	if len(shares) > 1 || len(shares) == 1 && len(whole)+len(parts)+len(d.Instances) > 0 {
		t.Fatalf("shares %v are held, the whole GPU by %v, parts by %v, and it has %v", shares, whole, parts, d.Instances)
	}
	var beside []mig.Partition
	for _, i := range d.Instances {
		beside = append(beside, i.Partition)
	}
	for i, p := range parts {
		for _, other := range parts[:i] {
			if p.Overlaps(other.Placement) {
				t.Fatalf("%v and %v overlap", p, other)
			}
		}
		if len(d.Instances) > 0 && p.Partition == d.Instances[0].Partition {
			continue // that very instance
		}
		if err := d.MIG.Geometry.Fits(beside, p.Partition); err != nil {
			t.Fatalf("%v is granted beside %v: %v", p, beside, err)
		}
		beside = append(beside, p.Partition)
	}
}

func named(t *rapid.T, d Device, slot string) mig.Partition {
	m := theirPattern.FindStringSubmatch(slot)
	for _, p := range d.MIG.Geometry.Partitions() {
		if m != nil && m[3] == fmt.Sprint(p.Profile) && m[4] == fmt.Sprint(p.Start) {
			return p
		}
	}
	t.Fatalf("%s is no partition of %s", slot, d.Product)
	return mig.Partition{}
}
