// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/test/sim"
)

const (
	profileInfo = "nvmlDeviceGetGpuInstanceProfileInfo"
	placements  = "nvmlDeviceGetGpuInstancePossiblePlacements_v2"
)

// profiles asks for the table of MIG profiles, which is there with MIG off too.
func (g *gpu) profiles() {
	for index := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		g.profile(index)
	}
}

func (g *gpu) profile(index int) {
	var info nvml.GpuInstanceProfileInfo
	head := fmt.Sprintf("MIG profile %d, ", index)
	has := g.call(head+"id", profileInfo, func() (any, nvml.Return) {
		v, ret := g.dev.GetGpuInstanceProfileInfo(index)
		info = v
		return v.Id, ret
	})
	if !has {
		return
	}
	memory := info.MemorySizeMB // MiB, whatever the name says (nvml.h)
	p := sim.Profile{
		Index: index, ID: int(info.Id), ComputeSlices: int(info.SliceCount), Max: int(info.InstanceCount), MemoryMiB: memory,
		Name: mig.Name(index, int(info.SliceCount), int64(memory), int64(g.product.MemoryMiB)<<20),
		SMs:  int(info.MultiprocessorCount), CopyEngines: int(info.CopyEngineCount), Decoders: int(info.DecoderCount),
		Encoders: int(info.EncoderCount), JPEG: int(info.JpegCount), OFA: int(info.OfaCount),
		Certainty: "A",
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"name", p.Name}, {"compute slices", p.ComputeSlices}, {"instances at most", p.Max}, {"memory, MiB", p.MemoryMiB},
		{"multiprocessors", p.SMs}, {"copy engines", p.CopyEngines}, {"decoders", p.Decoders}, {"encoders", p.Encoders},
		{"JPEG engines", p.JPEG}, {"OFA engines", p.OFA},
	} {
		g.note(head+f.name, f.value)
	}
	g.places(head, info, &p)
	g.product.Profiles = append(g.product.Profiles, p)
}

// places asks where instances of a profile may lie. Only root is told.
func (g *gpu) places(head string, info nvml.GpuInstanceProfileInfo, p *sim.Profile) {
	refused := false
	g.call(head+"placements", placements, func() (any, nvml.Return) {
		got, ret := g.dev.GetGpuInstancePossiblePlacements(&info)
		refused = ret == nvml.ERROR_NO_PERMISSION
		sizes := map[int]bool{}
		for _, at := range got {
			p.Starts = append(p.Starts, int(at.Start))
			p.MemoryUnits = int(at.Size)
			sizes[p.MemoryUnits] = true
		}
		slices.Sort(p.Starts)
		if len(sizes) > 1 {
			g.leave("%splacements have several sizes, which test/sim/products cannot say", head)
		}
		return fmt.Sprintf("%v of size %d", p.Starts, p.MemoryUnits), ret
	})
	if refused {
		g.leave("%splacements are told to root only; run this as root", head)
	}
}

// noProfiles asks how the walk over profiles ends, and for partitions that cannot
// be there.
func (g *gpu) noProfiles() {
	g.call("MIG profile after the last", profileInfo, func() (any, nvml.Return) {
		_, ret := g.dev.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_COUNT)
		return succeeded, ret
	})
	g.call("MIG devices at most", "nvmlDeviceGetMaxMigDeviceCount", plain(g.dev.GetMaxMigDeviceCount))
	g.call("is a MIG device", "nvmlDeviceIsMigDeviceHandle", plain(g.dev.IsMigDeviceHandle))
}
