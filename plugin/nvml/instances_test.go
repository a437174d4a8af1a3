// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml_test

import (
	"testing"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// Every profile of every product can be made where it may lie, gets the one
// compute instance that has all of it, is found by its place, and is gone when it
// is destroyed: whatever its ids are, and with a library that lacks what later
// ones have, of which a call would end the process.
func TestLifeOfEveryPartition(t *testing.T) {
	for _, driver := range []string{"510.47.03", "615.10"} {
		for _, name := range sim.Products() {
			product, err := sim.LookupProduct(name)
			ok(t, err)
			if len(product.Profiles) == 0 {
				continue
			}
			t.Run(driver+" "+name, func(t *testing.T) {
				cfg := machineOf(name + "+")
				cfg.Driver, cfg.IDs, cfg.UUIDs = driver, sim.IDsRandom, sim.UUIDsFresh
				b := newBench(t, cfg)
				for _, p := range product.Profiles {
					for _, start := range []int{p.Starts[0], p.Starts[len(p.Starts)-1]} {
						b.live(p, start)
					}
				}
			})
		}
	}
}

func (b *bench) live(p sim.Profile, start int) {
	b.t.Helper()
	ctx, address, place := b.t.Context(), b.gpu(0).PCI, at(p.ID, start, p.MemoryUnits)
	id, err := b.CreateGPUInstance(ctx, address, place)
	ok(b.t, err)
	got, found, err := b.Instance(ctx, address, place)
	if ok(b.t, err); !found {
		b.t.Errorf("%s at %d is not found while it is half made", p.Name, start)
	}
	same(b.t, "half made", got, sharing.Instance{GI: id, Partition: place})
	fact, err := b.CreateComputeInstance(ctx, address, id)
	ok(b.t, err)
	gi := b.gpu(0).GIs[0]
	if len(gi.CIs) != 1 || gi.CIs[0].Size != p.ComputeSlices {
		b.t.Errorf("%s has the compute instances %+v, want one of %d slices", p.Name, gi.CIs, p.ComputeSlices)
	}
	same(b.t, "learnt", fact, sharing.Fact{GI: gi.ID, CI: gi.CIs[0].ID, UUID: gi.CIs[0].UUID})
	want := sharing.Instance{GI: id, Partition: place, CI: fact.CI, UUID: fact.UUID}
	got, found, err = b.Instance(ctx, address, place)
	if ok(b.t, err); !found {
		b.t.Errorf("%s at %d is not found", p.Name, start)
	}
	same(b.t, "made", got, want)
	same(b.t, "seen", b.look()[0].Instances, []sharing.Instance{want})
	ok(b.t, b.DestroyInstance(ctx, address, id))
	same(b.t, "left", len(b.gpu(0).GIs), 0)
}

// An instance is found by all of its place, and by nothing less.
func TestInstanceByItsPlace(t *testing.T) {
	b := newBench(t, machineOf("H100-80+", "H100-80", "T4"))
	ok(t, b.machine.CreateInstance(0, 9, 4, true))
	ok(t, b.machine.CreateInstance(0, 19, 2, true))
	for name, c := range map[string]struct {
		gpu, profile, start, size int
		found                     bool
	}{
		"it": {0, 9, 4, 4, true}, "the other": {0, 19, 2, 1, true}, "another start": {0, 9, 0, 4, false}, "another size": {0, 9, 4, 3, false},
		"another profile there": {0, 20, 2, 1, false}, "an unknown profile": {0, 99, 4, 4, false}, "MIG mode off": {1, 9, 4, 4, false},
	} {
		got, found, err := b.Instance(t.Context(), b.gpu(c.gpu).PCI, at(c.profile, c.start, c.size))
		if err != nil || found != c.found || found && (got.Partition != at(c.profile, c.start, c.size) || got.UUID == "") {
			t.Errorf("%s: found %t, %+v, %v", name, found, got, err)
		}
	}
	_, _, err := b.Instance(t.Context(), b.gpu(2).PCI, at(19, 0, 1))
	refused(t, err, api.Invalid, "cannot be partitioned")
}

func TestInstancesThatCannotBeMade(t *testing.T) {
	b := newBench(t, machineOf("H100-80+", "H100-80", "T4"))
	ok(t, b.machine.CreateInstance(0, 9, 4, true))
	for name, c := range map[string]struct {
		gpu, profile, start, size int
		reason                    api.Reason
		says                      string
	}{
		"the place is taken":   {0, 19, 5, 1, api.Held, "something that no claim accounts for takes the place"},
		"no such profile":      {0, 99, 0, 1, api.NotFound, "has no MIG profile 99"},
		"MIG mode is off":      {1, 19, 0, 1, api.Unsupported, "nvmlDeviceCreateGpuInstanceWithPlacement says Not Supported"},
		"it has no partitions": {2, 19, 0, 1, api.Invalid, "cannot be partitioned"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.CreateGPUInstance(t.Context(), b.gpu(c.gpu).PCI, at(c.profile, c.start, c.size))
			refused(t, err, c.reason, c.says)
		})
	}
	gi := b.gpu(0).GIs[0]
	_, err := b.CreateComputeInstance(t.Context(), b.gpu(0).PCI, gi.ID)
	refused(t, err, "", "nvmlGpuInstanceCreateComputeInstance(2) says Insufficient Resources")
	_, err = b.CreateComputeInstance(t.Context(), b.gpu(0).PCI, gi.ID+1)
	refused(t, err, "", "nvmlDeviceGetGpuInstanceById")
	same(t, "what is there", b.gpu(0).GIs, []sim.GPUInstance{gi})
}

// Destroying takes everything in the instance with it; what is gone is gone, with
// MIG mode on or off.
func TestDestroyInstance(t *testing.T) {
	b := newBench(t, machineOf("H100-80+"))
	ctx, address := t.Context(), b.gpu(0).PCI
	ok(t, b.machine.CreateInstance(0, 14, 0, false))
	b.compute(0, 0)
	b.compute(0, 0)
	ok(t, b.machine.CreateInstance(0, 14, 2, true))
	first, second := b.gpu(0).GIs[0], b.gpu(0).GIs[1]
	ok(t, b.machine.AddProcess(sim.Process{PID: 7, Virtual: true, GI: &first.ID, CI: &first.CIs[1].ID}))
	refused(t, b.DestroyInstance(ctx, address, first.ID), api.InUse, "nvmlComputeInstanceDestroy")
	ok(t, b.machine.KillProcess(7))
	ok(t, b.DestroyInstance(ctx, address, first.ID))
	same(t, "left", b.gpu(0).GIs, []sim.GPUInstance{second})
	ok(t, b.DestroyInstance(ctx, address, first.ID))
	ok(t, b.DestroyInstance(ctx, address, second.ID))
	ok(t, b.SwitchMIG(ctx, address, false))
	ok(t, b.DestroyInstance(ctx, address, second.ID))
	ok(t, b.machine.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceGetGpuInstanceById"}, Do: sim.Do{Return: new(sim.Unknown)}}))
	refused(t, b.DestroyInstance(ctx, address, second.ID), "", "nvmlDeviceGetGpuInstanceById")
}
