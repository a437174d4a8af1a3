// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

const mib = 1 << 20

// GetMemoryInfo counts the system-reserved memory as used; its second version
// shows it apart. Both are NOT_SUPPORTED where CPU and GPU share one memory.
func (d *device) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	m, ret := d.memory("nvmlDeviceGetMemoryInfo")
	return nvml.Memory{Total: m.Total, Free: m.Free, Used: m.Used + m.Reserved}, ret
}

func (d *device) GetMemoryInfo_v2() (nvml.Memory_v2, nvml.Return) {
	m, ret := d.memory("nvmlDeviceGetMemoryInfo_v2")
	m.Version = nvml.STRUCT_VERSION(m, 2)
	return m, ret
}

func (d *device) memory(name string) (nvml.Memory_v2, nvml.Return) {
	return get(d, name, func(s *sim.State, g *sim.GPU, p sim.Product) (nvml.Memory_v2, nvml.Return) {
		if !p.MemoryQuery {
			return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED
		}
		used := s.UsedMiB(g.UUID)
		return nvml.Memory_v2{
			Total: p.MemoryMiB * mib, Reserved: p.ReservedMiB * mib, Used: used * mib,
			Free: (p.MemoryMiB - p.ReservedMiB - used) * mib,
		}, nvml.SUCCESS
	})
}

// wholeGPU stands in the instance fields of what concerns no MIG instance.
const wholeGPU = 0xFFFFFFFF

func (d *device) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.processes("nvmlDeviceGetComputeRunningProcesses_v3", sim.Compute)
}

func (d *device) GetGraphicsRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.processes("nvmlDeviceGetGraphicsRunningProcesses_v3", sim.Graphics)
}

func (d *device) GetMPSComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	return d.processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", sim.MPS)
}

func (d *device) processes(name string, kind sim.ProcessKind) ([]nvml.ProcessInfo, nvml.Return) {
	return get(d, name, func(s *sim.State, g *sim.GPU, _ sim.Product) ([]nvml.ProcessInfo, nvml.Return) {
		return processInfos(s.On(g.UUID, kind)), nvml.SUCCESS
	})
}

func processInfos(all []sim.Process) []nvml.ProcessInfo {
	out := []nvml.ProcessInfo{}
	for _, p := range all {
		out = append(out, nvml.ProcessInfo{
			Pid: uint32(p.PID), UsedGpuMemory: p.MemoryMiB * mib,
			GpuInstanceId: instanceID(p.GI), ComputeInstanceId: instanceID(p.CI),
		})
	}
	return out
}

func instanceID(id *int) uint32 {
	if id == nil {
		return wholeGPU
	}
	return uint32(*id)
}

// SetMemoryLimits_v1 limits the memory that a control group may have, in bytes.
func (d *device) SetMemoryLimits_v1(cgroup string, soft, hard uint64) nvml.Return {
	_, ret := tell(d.refuser, "nvmlDeviceSetMemoryLimits_v1", func(see sight) (int, nvml.Return) {
		return 0, nvml.Return(see.LimitMemory(see.gpu, cgroup, soft, hard))
	})
	return ret
}

// GetMemoryLimits_v1 reads them, in bytes. That root alone may is not said in the
// header, so everybody may.
func (d *device) GetMemoryLimits_v1(cgroup string) (nvml.MemoryLimits_v1, nvml.Return) {
	return get(d, "nvmlDeviceGetMemoryLimits_v1", func(s *sim.State, g *sim.GPU, _ sim.Product) (nvml.MemoryLimits_v1, nvml.Return) {
		l, used, c := s.MemoryLimits(g, cgroup)
		return nvml.MemoryLimits_v1{NameSpace: cgroup, SoftLimit: l.Soft, HardLimit: l.Hard, CurrentUsed: used}, nvml.Return(c)
	})
}
