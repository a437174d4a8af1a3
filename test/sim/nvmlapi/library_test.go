// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

func TestOnlyRootChangesAGPU(t *testing.T) {
	m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
	lib := open(t, m, nvmlapi.AsUser(1000))
	d, _ := lib.DeviceGetHandleByIndex(0)
	if ret := d.SetComputeMode(nvml.COMPUTEMODE_PROHIBITED); ret != nvml.ERROR_NO_PERMISSION {
		t.Errorf("compute mode: %v", ret)
	}
	if ret := d.SetPersistenceMode(nvml.FEATURE_ENABLED); ret != nvml.ERROR_NO_PERMISSION {
		t.Errorf("persistence mode: %v", ret)
	}
	if _, ret := d.GetGpuInstancePossiblePlacements(&nvml.GpuInstanceProfileInfo{Id: 14}); ret != nvml.ERROR_NO_PERMISSION {
		t.Errorf("placements: %v", ret)
	}
	s, err := m.State()
	if err != nil || s.GPUs[0].ComputeMode != sim.ComputeDefault || s.GPUs[0].Persistence {
		t.Errorf("the refused calls left %+v (%v)", s.GPUs[0], err)
	}
}

// TestFunctionsOfTheDriver: what the driver's library does not have is not
// found, and calling it all the same ends the process.
func TestFunctionsOfTheDriver(t *testing.T) {
	for driver, want := range map[string]bool{"535.129.03": false, "580.65.06": true} {
		lib := open(t, create(t, sim.Config{Driver: driver, GPUs: []sim.GPUConfig{{Product: "GB10"}}}))
		if found := lib.Extensions().LookupSymbol("nvmlDeviceGetAddressingMode") == nil; found != want {
			t.Errorf("driver %s has the function: %t, want %t", driver, found, want)
		}
		d, _ := lib.DeviceGetHandleByIndex(0)
		died := func() (died bool) {
			defer func() {
				text, ok := recover().(string)
				died = ok && strings.Contains(text, "undefined symbol: nvmlDeviceGetAddressingMode")
			}()
			d.GetAddressingMode()
			return false
		}()
		if died == want {
			t.Errorf("driver %s: the call ended the process: %t", driver, died)
		}
	}
	closed := nvmlapi.New(create(t, sim.Config{}))
	if err := closed.Extensions().LookupSymbol("nvmlInit_v2"); err == nil {
		t.Error("a symbol was found in a library that is not loaded")
	}
}

// TestLibrariesAreProcesses: each New has a session of its own.
func TestLibrariesAreProcesses(t *testing.T) {
	m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "T4"}}})
	open(t, m)
	if _, ret := nvmlapi.New(m).DeviceGetCount(); ret != nvml.ERROR_UNINITIALIZED {
		t.Errorf("another library was initialised along: %v", ret)
	}
}

// TestNvlib: the wrapper that upstream and nvcdi read GPUs through works on
// every product, on an old driver too.
func TestNvlib(t *testing.T) {
	for _, driver := range []string{"535.129.03", "615.10"} {
		cfg := sim.Config{Driver: driver}
		for _, p := range sim.Products() {
			cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p})
		}
		devices, err := device.New(open(t, create(t, cfg))).GetDevices()
		if err != nil || len(devices) != len(cfg.GPUs) {
			t.Fatalf("driver %s: %d devices, %v", driver, len(devices), err)
		}
		for i, d := range devices {
			describe(t, cfg.GPUs[i].Product, d)
		}
	}
}

// describe reads everything that becomes an attribute.
func describe(t *testing.T, product string, d device.Device) {
	t.Helper()
	p, err := sim.LookupProduct(product)
	if err != nil {
		t.Fatal(err)
	}
	arch, err := d.GetArchitectureAsString()
	if err != nil || arch != p.Architecture {
		t.Errorf("%s: architecture %q, %v", product, arch, err)
	}
	for what, read := range map[string]func() (string, error){
		"brand": d.GetBrandAsString, "compute capability": d.GetCudaComputeCapabilityAsString, "address": d.GetPCIBusID,
	} {
		if s, err := read(); err != nil || s == "" {
			t.Errorf("%s: %s %q, %v", product, what, s, err)
		}
	}
	if _, err := d.GetAddressingModeAsString(); err != nil {
		t.Errorf("%s: addressing mode: %v", product, err)
	}
	if capable, err := d.IsMigCapable(); err != nil || capable != p.MIG {
		t.Errorf("%s: MIG capable %t, %v", product, capable, err)
	}
	if on, err := d.IsMigEnabled(); err != nil || on {
		t.Errorf("%s: MIG enabled %t, %v", product, on, err)
	}
	if attached, err := d.IsFabricAttached(); err != nil || attached {
		t.Errorf("%s: attached to a fabric %t, %v", product, attached, err)
	}
	if !p.MIG {
		return
	}
	names := map[string]bool{}
	profiles, err := d.GetMigProfiles()
	if err != nil {
		t.Fatalf("%s: %v", product, err)
	}
	for _, pr := range profiles {
		names[pr.String()] = true
	}
	for _, pr := range p.Profiles {
		if !names[pr.Name] {
			t.Errorf("%s: go-nvlib makes no profile named %s of the table", product, pr.Name)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
	lib := open(t, m)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if lib.Init() != nvml.SUCCESS {
				t.Error("Init")
			}
			d, ret := lib.DeviceGetHandleByIndex(0)
			if ret != nvml.SUCCESS {
				t.Error(ret)
				return
			}
			set, _ := lib.EventSetCreate()
			d.RegisterEvents(nvml.EventTypeXidCriticalError, set)
			d.SetPersistenceMode(nvml.FEATURE_ENABLED)
			if _, ret := d.GetMemoryInfo(); ret != nvml.SUCCESS {
				t.Error(ret)
			}
			if _, ret := set.Wait(0); ret != nvml.ERROR_TIMEOUT {
				t.Error(ret)
			}
			lib.Shutdown()
		})
	}
	wg.Wait()
	if _, ret := lib.DeviceGetCount(); ret != nvml.SUCCESS {
		t.Errorf("one Init is left, but: %v", ret)
	}
}
