// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi_test

import (
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// TestOnlyRootPartitions: what others are refused changes nothing, and what
// SetMigMode answers them is the code, not the activation, which stays 0.
func TestOnlyRootPartitions(t *testing.T) {
	m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}, {Product: "H100-80"}}})
	if err := m.CreateInstance(0, 19, 0, true); err != nil {
		t.Fatal(err)
	}
	lib := open(t, m, nvmlapi.AsUser(1000))
	dev, _ := lib.DeviceGetHandleByIndex(0)
	whole, _ := lib.DeviceGetHandleByIndex(1)
	if activation, ret := whole.SetMigMode(nvml.DEVICE_MIG_ENABLE); activation != nvml.SUCCESS || ret != nvml.ERROR_NO_PERMISSION {
		t.Errorf("SetMigMode: activation %v, code %v", activation, ret)
	}
	gi, ret := dev.GetGpuInstanceById(7)
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	ci, ret := gi.GetComputeInstanceById(0)
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	_, create := dev.CreateGpuInstanceWithPlacement(&nvml.GpuInstanceProfileInfo{Id: 19}, &nvml.GpuInstancePlacement{Start: 1, Size: 1})
	_, choose := dev.CreateGpuInstance(&nvml.GpuInstanceProfileInfo{Id: 19})
	_, remaining := dev.GetGpuInstanceRemainingCapacity(&nvml.GpuInstanceProfileInfo{Id: 19})
	_, compute := gi.CreateComputeInstance(&nvml.ComputeInstanceProfileInfo{Id: 0})
	for what, ret := range map[string]nvml.Return{
		"create": create, "create without placement": choose, "remaining capacity": remaining, "create a compute instance": compute,
		"destroy a compute instance": ci.Destroy(), "destroy a GPU instance": gi.Destroy(),
	} {
		if ret != nvml.ERROR_NO_PERMISSION {
			t.Errorf("%s: %v", what, ret)
		}
	}
	s, err := m.State()
	if err != nil || len(s.GPUs[0].GIs) != 1 || s.GPUs[1].MIG.Current {
		t.Errorf("the refused calls left %+v (%v)", s.GPUs, err)
	}
}

// TestNvlibFindsMIGDevices: the wrapper that nvcdi and other programs read MIG
// devices through finds each with the profile it was made of.
func TestNvlibFindsMIGDevices(t *testing.T) {
	for _, product := range sim.Products() {
		p, err := sim.LookupProduct(product)
		if err != nil {
			t.Fatal(err)
		}
		for _, pr := range p.Profiles {
			m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: product, MIG: true}}})
			if err := m.CreateInstance(0, pr.ID, pr.Starts[0], true); err != nil {
				t.Fatalf("%s %s: %v", product, pr.Name, err)
			}
			devices, err := device.New(open(t, m)).GetMigDevices()
			if err != nil || len(devices) != 1 {
				t.Errorf("%s %s: %d MIG devices, %v", product, pr.Name, len(devices), err)
				continue
			}
			if found, err := devices[0].GetProfile(); err != nil || found.String() != pr.Name {
				t.Errorf("%s %s is found as %v, %v", product, pr.Name, found, err)
			}
		}
	}
}

// TestCrashOfTheCaller: a caller killed after the call has changed the hardware; one
// killed before has not.
func TestCrashOfTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		do   sim.Do
		made int
	}{
		"before": {sim.Do{CrashBefore: true}, 0},
		"after":  {sim.Do{CrashAfter: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}}})
			if err := m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceCreateGpuInstanceWithPlacement"}, Do: c.do}); err != nil {
				t.Fatal(err)
			}
			mortal, err := sim.Open(m.Dir(), sim.WithCrash(func() { panic("killed") }))
			if err != nil {
				t.Fatal(err)
			}
			dev, _ := open(t, mortal, nvmlapi.AsUser(0)).DeviceGetHandleByIndex(0)
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the caller lives")
					}
				}()
				dev.CreateGpuInstanceWithPlacement(&nvml.GpuInstanceProfileInfo{Id: 19}, &nvml.GpuInstancePlacement{Start: 1, Size: 1})
			}()
			s, err := m.State()
			if err != nil || len(s.GPUs[0].GIs) != c.made || m.Calls("nvmlDeviceCreateGpuInstanceWithPlacement") != 1 {
				t.Errorf("%d instances (%v) and %d calls, want %d and 1", len(s.GPUs[0].GIs), err, m.Calls("nvmlDeviceCreate*"), c.made)
			}
		})
	}
}
