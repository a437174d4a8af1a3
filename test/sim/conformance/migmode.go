// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

const (
	off = nvml.DEVICE_MIG_DISABLE
	on  = nvml.DEVICE_MIG_ENABLE
)

// migModes is what SetMigMode does: its results are activation and code, in this
// order.
func migModes() []behaviour {
	h100, a100 := []string{"H100-80"}, []string{"A100-40"}
	return []behaviour{
		{name: "MIG switches at once on Hopper", gpus: h100, run: func(e *env) {
			d := e.dev(0)
			e.setMode(d, on, nvml.SUCCESS, nvml.SUCCESS)
			e.mode(d, on, on)
			e.setMode(d, on, nvml.SUCCESS, nvml.SUCCESS)
			e.setMode(d, off, nvml.SUCCESS, nvml.SUCCESS)
			e.mode(d, off, off)
			equal(e, "calls", e.m.Calls("nvmlDeviceSetMigMode"), nvml.SUCCESS, 3)
		}},
		{name: "MIG waits for a reset on Ampere", gpus: a100, run: func(e *env) {
			d := e.dev(0)
			e.setMode(d, on, nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS)
			e.mode(d, off, on)
			_, ret := d.CreateGpuInstance(e.profile(d, 0))
			e.is("create while the mode is pending", ret, nvml.ERROR_NOT_SUPPORTED)
			e.setMode(d, off, nvml.SUCCESS, nvml.SUCCESS) // takes it back
			e.mode(d, off, off)
			e.setMode(d, on, nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS)
			e.do(e.m.ResetGPU(0))
			e.mode(d, on, on)
			e.instance(d, 0, 0)
		}},
		{name: "a pending mode becomes the mode at a reboot (Ampere)", gpus: a100, resetForbidden: true, run: func(e *env) {
			e.setMode(e.dev(0), on, nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS)
			if err := e.m.ResetGPU(0); err == nil {
				e.Error("a GPU was reset where the hypervisor forbids it")
			}
			e.do(e.m.Reboot())
			e.is("Init", e.lib.Init(), nvml.SUCCESS)
			e.mode(e.dev(0), on, on)
		}},
		{name: "a live client keeps the mode", gpus: []string{"H100-80", "A100-40"}, run: func(e *env) {
			for i, pending := range []int{off, on} {
				e.do(e.m.AddProcess(sim.Process{PID: 7, GPU: i, Virtual: true}))
				e.setMode(e.dev(i), on, nvml.ERROR_IN_USE, nvml.SUCCESS)
				e.mode(e.dev(i), off, pending)
			}
		}},
		{name: "MIG does not go off with instances there (unproven)", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			gi := e.instance(d, 0, 0)
			e.setMode(d, off, nvml.ERROR_IN_USE, nvml.SUCCESS)
			e.mode(d, on, on)
			e.is("destroy", gi.Destroy(), nvml.SUCCESS)
			e.setMode(d, off, nvml.SUCCESS, nvml.SUCCESS)
		}},
		{name: "no MIG mode on other parts, and no other modes", gpus: []string{"L40S", "H100-80"}, run: func(e *env) {
			e.setMode(e.dev(0), on, nvml.SUCCESS, nvml.ERROR_NOT_SUPPORTED)
			e.setMode(e.dev(1), 2, nvml.SUCCESS, nvml.ERROR_INVALID_ARGUMENT)
		}},
		{name: "what MIG refuses", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			e.is("compute mode of the GPU (code unproven)", d.SetComputeMode(nvml.COMPUTEMODE_PROHIBITED), nvml.ERROR_NOT_SUPPORTED)
			_, _, _, _, ret := d.GetRemappedRows()
			e.is("remapped rows", ret, nvml.ERROR_NOT_SUPPORTED)
			_, ret = d.GetUtilizationRates()
			e.is("utilisation", ret, nvml.ERROR_NOT_SUPPORTED)
		}},
		{name: "a fault in either result", gpus: h100, run: func(e *env) {
			d := e.dev(0)
			for _, c := range []struct {
				do              sim.Do
				activation, ret nvml.Return
				pending         int
			}{
				{sim.Do{Activation: new(sim.InUse)}, nvml.ERROR_IN_USE, nvml.SUCCESS, off},
				{sim.Do{Activation: new(sim.ResetRequired)}, nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS, on},
				{sim.Do{Return: new(sim.NoPermission)}, nvml.SUCCESS, nvml.ERROR_NO_PERMISSION, on},
			} {
				e.do(e.m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetMigMode"}, Do: c.do}))
				e.setMode(d, on, c.activation, c.ret)
				e.mode(d, off, c.pending)
				e.do(e.m.ClearFaults())
			}
		}},
		{name: "MIG mode and instances over a reboot (mode on Hopper unproven)", gpus: []string{"H100-80", "A100-40"}, mig: true, run: func(e *env) {
			gi := e.instance(e.dev(0), 0, 0)
			e.instance(e.dev(1), 0, 0)
			e.do(e.m.Reboot())
			e.is("Init", e.lib.Init(), nvml.SUCCESS)
			e.mode(e.dev(0), off, off)
			e.mode(e.dev(1), on, on)
			_, ret := gi.GetInfo()
			e.is("instance of before", ret, nvml.ERROR_INVALID_ARGUMENT)
			all, ret := e.dev(1).GetGpuInstances(e.profile(e.dev(1), 0))
			equal(e, "instances after", len(all), ret, 0)
		}},
	}
}

func (e *env) setMode(d nvml.Device, mode int, activation, ret nvml.Return) {
	e.Helper()
	gotActivation, gotRet := d.SetMigMode(mode)
	if gotActivation != activation || gotRet != ret {
		e.Errorf("SetMigMode(%d): activation %v, code %v; want %v, %v", mode, gotActivation, gotRet, activation, ret)
	}
}

func (e *env) mode(d nvml.Device, current, pending int) {
	e.Helper()
	c, p, ret := d.GetMigMode()
	equal(e, "MIG mode", [2]int{c, p}, ret, [2]int{current, pending})
}
