// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const noLimit = 0xFFFFFFFFFFFFFFFF // NVML_DEVICE_MEMORY_LIMIT_MAX

func shares() []behaviour {
	return []behaviour{
		{name: "the compute mode with MIG on is the MIG device's", gpus: []string{"H100-80"}, mig: true, run: migComputeMode},
		{name: "memory limits of a control group", gpus: []string{"H100-80", "H100-80"}, run: memoryLimits},
		{name: "memory limits are for whole GPUs", gpus: []string{"H100-80"}, mig: true, run: func(e *env) {
			e.do(e.m.CreateInstance(0, 19, 0, true))
			d := e.dev(0)
			mig, ret := d.GetMigDeviceHandleByIndex(0)
			e.is("MIG device", ret, nvml.SUCCESS)
			for what, h := range map[string]nvml.Device{"the parent": d, "a MIG device": mig} {
				e.is(what, h.SetMemoryLimits_v1(e.cgroup(), 0, 1<<30), nvml.ERROR_NOT_SUPPORTED)
				_, ret := h.GetMemoryLimits_v1(e.cgroup())
				e.is(what, ret, nvml.ERROR_NOT_SUPPORTED)
			}
		}},
		{name: "memory limits are looked up", run: func(e *env) {
			e.do(e.lib.Extensions().LookupSymbol("nvmlDeviceSetMemoryLimits_v1"))
			e.do(e.lib.Extensions().LookupSymbol("nvmlDeviceGetMemoryLimits_v1"))
		}},
		{name: "what sharing sets is gone with the driver load", gpus: []string{"H100-80"}, run: func(e *env) {
			for name, end := range map[string]func() error{"driver reload": e.m.ReloadDriver, "reboot": e.m.Reboot, "reset": func() error { return e.m.ResetGPU(0) }} {
				group := e.cgroup()
				e.is("limit", e.dev(0).SetMemoryLimits_v1(group, 0, 1<<30), nvml.SUCCESS)
				e.is("mode", e.dev(0).SetComputeMode(nvml.COMPUTEMODE_EXCLUSIVE_PROCESS), nvml.SUCCESS)
				e.do(e.m.PresetTimeSlice(0, 2))
				e.do(end())
				e.is("Init", e.lib.Init(), nvml.SUCCESS)
				l, ret := e.dev(0).GetMemoryLimits_v1(group)
				equal(e, "hard limit after a "+name, l.HardLimit, ret, noLimit)
				e.do(e.m.Leftovers())
			}
		}},
		{name: "a client is on its GPU until it is killed", gpus: []string{"A30-24", "A30-24"}, run: killedClient},
		{name: "an MPS server has the GPU and its clients are shown as such", gpus: []string{"A30-24"}, run: servedClient},
	}
}

func migComputeMode(e *env) {
	e.do(e.m.CreateInstance(0, 19, 0, true))
	d := e.dev(0)
	e.is("set on the parent", d.SetComputeMode(nvml.COMPUTEMODE_EXCLUSIVE_PROCESS), nvml.ERROR_NOT_SUPPORTED)
	mig, ret := d.GetMigDeviceHandleByIndex(0)
	e.is("MIG device", ret, nvml.SUCCESS)
	e.is("set", mig.SetComputeMode(nvml.COMPUTEMODE_EXCLUSIVE_PROCESS), nvml.SUCCESS)
	mode, ret := mig.GetComputeMode()
	equal(e, "mode", mode, ret, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS)
	mode, ret = d.GetComputeMode()
	equal(e, "of the parent", mode, ret, nvml.COMPUTEMODE_DEFAULT)
}

func memoryLimits(e *env) {
	d, group := e.dev(0), e.cgroup()
	l, ret := d.GetMemoryLimits_v1(group)
	equal(e, "at first", [3]uint64{l.SoftLimit, l.HardLimit, l.CurrentUsed}, ret, [3]uint64{0, noLimit, 0})
	equal(e, "name", l.NameSpace, ret, group)
	e.is("set", d.SetMemoryLimits_v1(group, 1<<30, 2<<30), nvml.SUCCESS)
	l, ret = d.GetMemoryLimits_v1(group)
	equal(e, "limits", [2]uint64{l.SoftLimit, l.HardLimit}, ret, [2]uint64{1 << 30, 2 << 30})
	l, ret = e.dev(1).GetMemoryLimits_v1(group)
	equal(e, "of the other GPU", l.HardLimit, ret, noLimit)
	e.is("soft above hard", d.SetMemoryLimits_v1(group, 2<<30, 1<<30), nvml.ERROR_INVALID_ARGUMENT)
	e.is("more than there is", d.SetMemoryLimits_v1(group, 0, 1<<40), nvml.ERROR_INVALID_ARGUMENT)
	e.is("a group that is not there", d.SetMemoryLimits_v1(group+"/none", 0, 1<<30), nvml.ERROR_OPERATING_SYSTEM)
	_, ret = d.GetMemoryLimits_v1(group + "/none")
	e.is("of a group that is not there", ret, nvml.ERROR_OPERATING_SYSTEM)
	l, ret = d.GetMemoryLimits_v1(group)
	equal(e, "after what was refused", [2]uint64{l.SoftLimit, l.HardLimit}, ret, [2]uint64{1 << 30, 2 << 30})
	e.is("clear", d.SetMemoryLimits_v1(group, 0, noLimit), nvml.SUCCESS)
	e.do(e.m.Leftovers())
}

// cgroup makes what looks like a control group of version 2.
func (e *env) cgroup() string {
	e.Helper()
	dir := e.TempDir()
	e.do(os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("dmem\n"), 0o600))
	return dir
}
