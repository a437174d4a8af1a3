// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// partitioning is how a GPU can be partitioned. NVML tells it with MIG mode off
// too, and it stays while the driver is loaded.
type partitioning struct {
	facts *sharing.MIG
	// profiles are NVML's own descriptions, by id; calls want them back.
	profiles map[int]nvml.GpuInstanceProfileInfo
}

// partitioning returns how the GPU can be partitioned; nil when it cannot.
func (s *Session) partitioning(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) (*partitioning, error) {
	if p, known := s.partitionings[g.UUID]; known {
		return p, nil
	}
	p, err := askPartitioning(lib, dev, g)
	if err != nil {
		return nil, err
	}
	if p != nil && s.needsReset[g.UUID] {
		p.facts.Switchable = false
	}
	s.partitionings[g.UUID] = p
	return p, nil
}

func askPartitioning(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) (*partitioning, error) {
	if _, _, ret := dev.GetMigMode(); ret == nvml.ERROR_NOT_SUPPORTED {
		return nil, nil
	} else if err := fail(lib, "nvmlDeviceGetMigMode", ret); err != nil {
		return nil, err
	}
	virtual, ret := dev.GetVirtualizationMode()
	if err := fail(lib, "nvmlDeviceGetVirtualizationMode", ret); err != nil && ret != nvml.ERROR_NOT_SUPPORTED {
		return nil, err
	}
	if virtual == nvml.GPU_VIRTUALIZATION_MODE_VGPU {
		return nil, nil // the host decides about a guest's instances
	}
	arch, ret := dev.GetArchitecture()
	if err := fail(lib, "nvmlDeviceGetArchitecture", ret); err != nil {
		return nil, err
	}
	p := &partitioning{profiles: map[int]nvml.GpuInstanceProfileInfo{}, facts: &sharing.MIG{
		// "Starting with the Hopper generation, enabling MIG mode no longer requires a
		// GPU reset" (NVIDIA MIG user guide).
		Switchable: arch >= nvml.DEVICE_ARCH_HOPPER && arch != nvml.DEVICE_ARCH_UNKNOWN,
	}}
	for i := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		if err := p.ask(lib, dev, g, i); err != nil {
			return nil, err
		}
	}
	if len(p.facts.Geometry) == 0 {
		return nil, nil
	}
	return p, nil
}

// ask adds the profile with this index, if the GPU has it.
func (p *partitioning) ask(lib nvml.Interface, dev nvml.Device, g *sharing.GPU, index int) error {
	info, ret := dev.GetGpuInstanceProfileInfo(index)
	if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_INVALID_ARGUMENT {
		return nil // not on this GPU; the second: not in this library's age
	}
	if err := fail(lib, fmt.Sprintf("nvmlDeviceGetGpuInstanceProfileInfo(%d)", index), ret); err != nil {
		return err
	}
	placements, ret := dev.GetGpuInstancePossiblePlacements(&info)
	if err := fail(lib, fmt.Sprintf("nvmlDeviceGetGpuInstancePossiblePlacements(%d)", info.Id), ret); err != nil {
		return err
	}
	memory := int64(info.MemorySizeMB) // MiB, whatever the name says (nvml.h)
	profile := mig.Profile{
		Index: index, ID: int(info.Id), Slices: int(info.SliceCount), Max: int(info.InstanceCount), MemoryMiB: memory,
		Name: mig.Name(index, int(info.SliceCount), memory, g.MemoryBytes),
		Engines: mig.Engines{
			Multiprocessors: int(info.MultiprocessorCount), CopyEngines: int(info.CopyEngineCount), Decoders: int(info.DecoderCount),
			Encoders: int(info.EncoderCount), JPEGEngines: int(info.JpegCount), OFAEngines: int(info.OfaCount),
		},
	}
	for _, at := range placements {
		profile.Placements = append(profile.Placements, mig.Placement{Start: int(at.Start), Size: int(at.Size)})
	}
	if len(profile.Placements) == 0 {
		return nil
	}
	p.profiles[profile.ID] = info
	p.facts.Geometry = append(p.facts.Geometry, profile)
	return nil
}
