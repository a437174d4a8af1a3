// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// compute makes a compute instance of one slice in the nth instance, as somebody
// with nvidia-smi would.
func (b *bench) compute(gpu, nth int) {
	b.t.Helper()
	gi, ret := b.raw(gpu).GetGpuInstanceById(b.gpu(gpu).GIs[nth].ID)
	if ret != nvml.SUCCESS {
		b.t.Fatal(ret)
	}
	info, ret := gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	if ret != nvml.SUCCESS {
		b.t.Fatal(ret)
	}
	if _, ret := gi.CreateComputeInstance(&info); ret != nvml.SUCCESS {
		b.t.Fatal(ret)
	}
}

// What is there is told with a UUID if one compute instance has all of it, and
// with how many processes run on it.
func TestLookAtInstances(t *testing.T) {
	for _, ids := range []string{sim.IDsPositional, sim.IDsRandom} {
		t.Run("ids "+ids, func(t *testing.T) {
			cfg := machineOf("H100-80+", "H100-80", "H100-80+")
			cfg.IDs = ids
			b := newBench(t, cfg)
			ok(t, b.machine.CreateInstance(0, 19, 0, false)) // half made
			ok(t, b.machine.CreateInstance(0, 14, 2, false)) // in two halves
			b.compute(0, 1)
			b.compute(0, 1)
			ok(t, b.machine.CreateInstance(0, 9, 4, true)) // whole
			ok(t, b.machine.CreateInstance(2, 14, 0, false))
			b.compute(2, 0) // half of it
			whole := b.gpu(0).GIs[2]
			ok(t, b.machine.AddProcess(sim.Process{PID: 1, Virtual: true, GI: &whole.ID, CI: &whole.CIs[0].ID}))
			ok(t, b.machine.AddProcess(sim.Process{PID: 2, Virtual: true, GI: &whole.ID, CI: &whole.CIs[0].ID}))
			halves := b.gpu(0).GIs[1]
			ok(t, b.machine.AddProcess(sim.Process{PID: 3, Virtual: true, GI: &halves.ID, CI: &halves.CIs[1].ID}))

			gpus := b.look()
			same(t, "instances", gpus[0].Instances, []sharing.Instance{
				{GI: b.gpu(0).GIs[0].ID, Partition: at(19, 0, 1)},
				{GI: halves.ID, Partition: at(14, 2, 2), Processes: 1},
				{GI: whole.ID, Partition: at(9, 4, 4), CI: whole.CIs[0].ID, UUID: whole.CIs[0].UUID, Processes: 2},
			})
			same(t, "instances where MIG mode is off", gpus[1].Instances, []sharing.Instance(nil))
			same(t, "instances of which a half is used", gpus[2].Instances, []sharing.Instance{{GI: b.gpu(2).GIs[0].ID, Partition: at(14, 0, 2)}})
			for i, on := range []bool{true, false, true} {
				same(t, "mode", gpus[i].MIGMode, sharing.MIGMode{On: on, Pending: on})
			}
		})
	}
}

// The geometry is that of the product's table, with MIG mode on or off.
func TestGeometryOfEveryProduct(t *testing.T) {
	for _, name := range sim.Products() {
		product, err := sim.LookupProduct(name)
		ok(t, err)
		want := mig.Geometry{}
		for index := range nvml.GPU_INSTANCE_PROFILE_COUNT {
			r, has := product.Profile(index)
			if !has {
				continue
			}
			p := mig.Profile{Index: index, ID: r.ID, Name: r.Name, Slices: r.ComputeSlices, Max: r.Max, MemoryMiB: int64(r.MemoryMiB), Engines: mig.Engines{
				Multiprocessors: r.SMs, CopyEngines: r.CopyEngines, Decoders: r.Decoders, Encoders: r.Encoders, JPEGEngines: r.JPEG, OFAEngines: r.OFA}}
			for _, s := range r.Starts {
				p.Placements = append(p.Placements, mig.Placement{Start: s, Size: r.MemoryUnits})
			}
			want = append(want, p)
		}
		configs := []string{name}
		if product.MIG {
			configs = append(configs, name+"+")
		}
		for i, g := range newBench(t, machineOf(configs...)).look() {
			if !product.MIG {
				if g.MIG != nil {
					t.Errorf("%s can be partitioned: %+v", name, g.MIG)
				}
				continue
			}
			same(t, fmt.Sprintf("%s, %d", name, i), g.MIG, &sharing.MIG{Switchable: !product.MIGNeedsReset, Geometry: want})
		}
	}
}

// altered is a library that answers otherwise about every GPU.
type altered struct {
	nvml.Interface
	device func(nvml.Device) nvml.Device
}

func (a altered) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	dev, ret := a.Interface.DeviceGetHandleByIndex(i)
	return a.device(dev), ret
}

func (a altered) DeviceGetHandleByPciBusId(address string) (nvml.Device, nvml.Return) {
	dev, ret := a.Interface.DeviceGetHandleByPciBusId(address)
	return a.device(dev), ret
}

// described is a GPU that says otherwise what it is.
type described struct {
	nvml.Device
	arch    nvml.DeviceArchitecture
	virtual nvml.GpuVirtualizationMode
	ret     nvml.Return
}

func (d described) GetArchitecture() (nvml.DeviceArchitecture, nvml.Return) {
	return d.arch, nvml.SUCCESS
}

func (d described) GetVirtualizationMode() (nvml.GpuVirtualizationMode, nvml.Return) {
	return d.virtual, d.ret
}

// Where the mode follows claims, where it does not, and where it is not ours.
func TestSwitchable(t *testing.T) {
	for name, c := range map[string]struct {
		arch    nvml.DeviceArchitecture
		virtual nvml.GpuVirtualizationMode
		ret     nvml.Return
		want    string
	}{
		"Ampere":                        {nvml.DEVICE_ARCH_AMPERE, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS, "reset"},
		"Ada":                           {nvml.DEVICE_ARCH_ADA, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS, "reset"},
		"Hopper":                        {nvml.DEVICE_ARCH_HOPPER, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS, "switchable"},
		"Blackwell":                     {nvml.DEVICE_ARCH_BLACKWELL, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS, "switchable"},
		"one that is not known yet":     {nvml.DEVICE_ARCH_BLACKWELL + 5, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS, "switchable"},
		"one that the driver knows not": {nvml.DEVICE_ARCH_UNKNOWN, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.SUCCESS, "reset"},
		"passed through":                {nvml.DEVICE_ARCH_HOPPER, nvml.GPU_VIRTUALIZATION_MODE_PASSTHROUGH, nvml.SUCCESS, "switchable"},
		"a guest's virtual one":         {nvml.DEVICE_ARCH_HOPPER, nvml.GPU_VIRTUALIZATION_MODE_VGPU, nvml.SUCCESS, "none"},
		"an old driver tells nothing":   {nvml.DEVICE_ARCH_HOPPER, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.ERROR_NOT_SUPPORTED, "switchable"},
		"the question fails":            {nvml.DEVICE_ARCH_HOPPER, nvml.GPU_VIRTUALIZATION_MODE_NONE, nvml.ERROR_UNKNOWN, "sick"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, machineOf("H100-80+"), func(lib nvml.Interface) nvml.Interface {
				return altered{lib, func(d nvml.Device) nvml.Device { return described{d, c.arch, c.virtual, c.ret} }}
			})
			l, err := b.Look(t.Context())
			ok(t, err)
			got := "none"
			switch {
			case len(l.Sick) > 0:
				got = "sick"
				if !strings.Contains(l.Sick[0].Why, "nvmlDeviceGetVirtualizationMode") || l.Sick[0].Address != b.gpu(0).PCI {
					t.Errorf("it is sick at %q: %s", l.Sick[0].Address, l.Sick[0].Why)
				}
			case l.GPUs[0].MIG != nil && l.GPUs[0].MIG.Switchable:
				got = "switchable"
			case l.GPUs[0].MIG != nil:
				got = "reset"
			}
			same(t, "it is", got, c.want)
		})
	}
}

// What cannot be told of one GPU's partitions costs that GPU.
func TestOneSickGPU(t *testing.T) {
	for _, call := range []string{
		"nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstanceProfileInfo", "nvmlDeviceGetGpuInstancePossiblePlacements",
		"nvmlDeviceGetGpuInstances", "nvmlGpuInstanceGetInfo", "nvmlGpuInstanceGetComputeInstances", "nvmlComputeInstanceGetInfo",
		"nvmlDeviceGetComputeRunningProcesses",
	} {
		t.Run(call, func(t *testing.T) {
			b := newBench(t, machineOf("H100-80+", "H100-80+"))
			ok(t, b.machine.CreateInstance(0, 19, 0, true))
			ok(t, b.machine.CreateInstance(1, 19, 0, true))
			ok(t, b.machine.Inject(sim.Fault{ID: "f", Match: sim.Match{Call: call, GPU: new(1)}, Do: sim.Do{Return: new(sim.Unknown)}}))
			l, err := b.Look(t.Context())
			ok(t, err)
			if len(l.GPUs) != 1 || len(l.Sick) != 1 || l.Sick[0].Address != b.gpu(1).PCI || !strings.Contains(l.Sick[0].Why, call) {
				t.Fatalf("%d GPUs, sick %+v; want the second sick for %s", len(l.GPUs), l.Sick, call)
			}
			ok(t, b.machine.ClearFaults())
			if got := b.look(); len(got) != 2 || len(got[1].Instances) != 1 {
				t.Errorf("it does not recover: %+v", got)
			}
		})
	}
}
