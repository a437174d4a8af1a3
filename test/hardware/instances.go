// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
)

// instances asks for the partitions that are there. Their ids are asked by profile
// and start: the simulator makes the same ones, in whatever order.
func (g *gpu) instances() {
	for _, p := range g.product.Profiles {
		info, ret := g.dev.GetGpuInstanceProfileInfo(p.Index)
		if ret != nvml.SUCCESS {
			continue
		}
		var found []readonly.Instance
		g.call(fmt.Sprintf("GPU instances of profile %d", p.Index), "nvmlDeviceGetGpuInstances", func() (any, nvml.Return) {
			got, ret := g.dev.GetGpuInstances(&info)
			found = got
			return len(got), ret
		})
		for _, gi := range found {
			g.instance(gi, p.ComputeSlices)
		}
	}
}

func (g *gpu) instance(gi readonly.Instance, slices int) {
	at, ret := gi.GetInfo()
	if ret != nvml.SUCCESS {
		g.note("nvmlGpuInstanceGetInfo", ret)
		return
	}
	head := fmt.Sprintf("GPU instance of profile id %d at %d, ", at.Profile, at.Start)
	g.note(head+"size", at.Size)
	g.note(head+"id", at.ID)
	cis := computes(gi)
	if len(cis) > 1 || len(cis) == 1 && cis[0].slices != slices {
		g.leave("%scompute instances other than one of the whole are not compared", head)
		return
	}
	g.parts = append(g.parts, part{profile: at.Profile, start: at.Start, filled: len(cis) == 1})
	for _, c := range cis {
		g.compute(head, c.Compute)
	}
}

// sized is a compute instance with the number of its slices.
type sized struct {
	readonly.Compute
	slices int
}

func computes(gi readonly.Instance) []sized {
	var out []sized
	for index := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, ret := gi.GetComputeInstanceProfileInfo(index)
		if ret != nvml.SUCCESS {
			continue
		}
		got, _ := gi.GetComputeInstances(&info)
		for _, c := range got {
			out = append(out, sized{c, int(info.SliceCount)})
		}
	}
	return out
}

// compute asks a compute instance, and the MIG device that it is.
func (g *gpu) compute(head string, c readonly.Compute) {
	at, dev, ret := c.GetInfo()
	if ret != nvml.SUCCESS {
		g.note(head+"nvmlComputeInstanceGetInfo", ret)
		return
	}
	head += "its compute instance, "
	g.note(head+"id", at.ID)
	g.note(head+"profile id", at.Profile)
	g.call(head+"form of the UUID", "nvmlDeviceGetUUID", func() (any, nvml.Return) {
		v, ret := dev.GetUUID()
		return form(v), ret
	})
	g.call(head+"is a MIG device", "nvmlDeviceIsMigDeviceHandle", plain(dev.IsMigDeviceHandle))
	g.call(head+"GPU instance id", "nvmlDeviceGetGpuInstanceId", plain(dev.GetGpuInstanceId))
	g.call(head+"compute instance id", "nvmlDeviceGetComputeInstanceId", plain(dev.GetComputeInstanceId))
	g.call(head+"name", "nvmlDeviceGetName", plain(dev.GetName))
	g.call(head+"memory, MiB", "nvmlDeviceGetMemoryInfo", func() (any, nvml.Return) {
		v, ret := dev.GetMemoryInfo()
		return v.Total >> 20, ret
	})
	g.call(head+"attributes", "nvmlDeviceGetAttributes_v2", func() (any, nvml.Return) {
		v, ret := dev.GetAttributes()
		return fmt.Sprintf("%+v", v), ret
	})
	g.call(head+"compute processes", "nvmlDeviceGetComputeRunningProcesses_v3", value(dev.GetComputeRunningProcesses))
	g.call(head+"leads to its GPU", "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", func() (any, nvml.Return) {
		return g.same(dev.GetDeviceHandleFromMigDeviceHandle())
	})
}

// migDevices asks for MIG devices by index. Which is where depends on what was
// made and destroyed before, so only their number is compared, and the codes of
// indexes that none has.
func (g *gpu) migDevices() {
	const symbol = "nvmlDeviceGetMigDeviceHandleByIndex"
	most, ret := g.dev.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return
	}
	there := 0
	for index := range most {
		switch _, ret := g.dev.GetMigDeviceHandleByIndex(index); ret {
		case nvml.SUCCESS:
			there++
		default:
			g.note("a MIG device that is not there", ret)
		}
	}
	g.note("MIG devices", there)
	g.call("a MIG device beyond the last", symbol, func() (any, nvml.Return) {
		_, ret := g.dev.GetMigDeviceHandleByIndex(most)
		return succeeded, ret
	})
}
