// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/test/sim/products"
)

// divisible is a ready GPU of a product, idle and with MIG mode off.
func divisible(t testing.TB, product, name string) Device {
	t.Helper()
	p, err := products.Get(product)
	if err != nil {
		t.Fatal(err)
	}
	d := device(name, Ready)
	d.Why, d.Product, d.MemoryBytes = "", p.Name, p.MemoryMiB<<20
	d.MIG = &MIG{Switchable: !p.MIGNeedsReset, Geometry: p.Geometry()}
	return d
}

// on is the device with MIG mode on, and with these instances.
func (d Device) on(instances ...Instance) Device {
	d.MIGMode = MIGMode{On: true, Pending: true}
	d.Instances = instances
	return d
}

// at is the partition of the profile with that name which begins there.
func (d Device) at(t testing.TB, profile string, start int) mig.Partition {
	t.Helper()
	for _, p := range d.MIG.Geometry.Partitions() {
		if found, _ := d.MIG.Geometry.Profile(p.Profile); found.Name == profile && p.Start == start {
			return p
		}
	}
	t.Fatalf("%s has no %s at %d", d.Product, profile, start)
	return mig.Partition{}
}

// theirs is an instance that somebody else made, with its compute instance.
func (d Device) theirs(t testing.TB, profile string, start int) Instance {
	return Instance{GI: start + 1, Partition: d.at(t, profile, start), UUID: "MIG-" + profile, Foreign: true}
}

// where is the place of a partition that a claim is given.
func (d Device) where(t testing.TB, profile string, start int) Place {
	t.Helper()
	p := d.at(t, profile, start)
	found, _ := d.MIG.Geometry.Profile(p.Profile)
	return Place{Slot: PartitionName(d.Name, found, start), Address: d.Address, Partition: p}
}
