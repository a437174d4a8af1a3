// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func memories() []behaviour {
	return []behaviour{
		{name: "memory adds up", gpus: []string{"A30-24"}, run: func(e *env) {
			d := e.dev(0)
			idle, ret := d.GetMemoryInfo_v2()
			e.is("memory", ret, nvml.SUCCESS)
			e.do(e.m.AddProcess(sim.Process{PID: 4242, Virtual: true, MemoryMiB: 1024}))
			busy, ret := d.GetMemoryInfo_v2()
			equal(e, "used", busy.Used, ret, idle.Used+1<<30)
			equal(e, "free", busy.Free, ret, idle.Free-1<<30)
			equal(e, "sum", busy.Used+busy.Free+busy.Reserved, ret, busy.Total)
			old, ret := d.GetMemoryInfo()
			equal(e, "used, first version, which counts the reserve", old.Used, ret, busy.Used+busy.Reserved)
			equal(e, "sum, first version", old.Used+old.Free, ret, old.Total)
		}},
		{name: "processes by kind", gpus: []string{"A30-24", "A30-24"}, run: processKinds},
		{name: "ECC counters", gpus: []string{"A30-24", "GB10"}, run: func(e *env) {
			d := e.dev(0)
			current, pending, ret := d.GetEccMode()
			equal(e, "mode", [2]nvml.EnableState{current, pending}, ret, [2]nvml.EnableState{nvml.FEATURE_ENABLED, nvml.FEATURE_ENABLED})
			n, ret := d.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
			equal(e, "total", n, ret, 0)
			n, ret = d.GetMemoryErrorCounter(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC, nvml.MEMORY_LOCATION_DRAM)
			equal(e, "DRAM", n, ret, 0)
			_, _, pend, failed, ret := d.GetRemappedRows()
			equal(e, "remapped rows", [2]bool{pend, failed}, ret, [2]bool{})
			_, _, ret = e.dev(1).GetEccMode()
			e.is("without ECC", ret, nvml.ERROR_NOT_SUPPORTED)
		}},
	}
}

func processKinds(e *env) {
	for pid, kind := range map[int]sim.ProcessKind{11: sim.Compute, 12: sim.Compute, 13: sim.MPS, 14: sim.Graphics} {
		e.do(e.m.AddProcess(sim.Process{PID: pid, Kind: kind, MemoryMiB: 10, Virtual: true}))
	}
	count := func(i int) (n [3]int) {
		d := e.dev(i)
		for j, list := range []func() ([]nvml.ProcessInfo, nvml.Return){
			d.GetComputeRunningProcesses, d.GetMPSComputeRunningProcesses, d.GetGraphicsRunningProcesses,
		} {
			infos, ret := list()
			e.is("processes", ret, nvml.SUCCESS)
			for _, p := range infos {
				equal(e, "memory", p.UsedGpuMemory, ret, 10<<20)
				equal(e, "instances of a whole GPU", [2]uint32{p.GpuInstanceId, p.ComputeInstanceId}, ret, [2]uint32{0xFFFFFFFF, 0xFFFFFFFF})
			}
			n[j] = len(infos)
		}
		return n
	}
	equal(e, "GPU 0", count(0), nvml.SUCCESS, [3]int{2, 1, 1})
	equal(e, "GPU 1", count(1), nvml.SUCCESS, [3]int{})
	e.do(e.m.KillProcess(12))
	equal(e, "GPU 0 after a kill", count(0), nvml.SUCCESS, [3]int{1, 1, 1})
}
