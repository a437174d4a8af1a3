// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// instances returns the GPU instances that are there. They are asked for by
// profile: a walk over MIG devices misses those without a compute instance.
func (p *partitioning) instances(lib nvml.Interface, dev nvml.Device) ([]sharing.Instance, error) {
	var out []sharing.Instance
	for _, profile := range p.facts.Geometry {
		got, err := p.ofProfile(lib, dev, profile.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	if len(out) == 0 {
		return nil, nil
	}
	procs, ret := dev.GetComputeRunningProcesses()
	if err := fail(lib, "nvmlDeviceGetComputeRunningProcesses", ret); err != nil && ret != nvml.ERROR_NOT_SUPPORTED {
		return nil, err
	}
	for i := range out {
		for _, proc := range procs {
			if int(proc.GpuInstanceId) == out[i].GI {
				out[i].Processes++
			}
		}
	}
	return out, nil
}

func (p *partitioning) ofProfile(lib nvml.Interface, dev nvml.Device, id int) ([]sharing.Instance, error) {
	info, ok := p.profiles[id]
	if !ok {
		return nil, nil // instances end with the driver load, and this one has none of it
	}
	gis, ret := dev.GetGpuInstances(&info)
	if ret == nvml.ERROR_NOT_SUPPORTED {
		return nil, nil // MIG mode went off meanwhile
	}
	if err := fail(lib, fmt.Sprintf("nvmlDeviceGetGpuInstances(%d)", id), ret); err != nil {
		return nil, err
	}
	var out []sharing.Instance
	for _, gi := range gis {
		i, err := p.describe(lib, gi)
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, nil
}

// describe returns a GPU instance with the compute instance that has all of it.
func (p *partitioning) describe(lib nvml.Interface, gi nvml.GpuInstance) (sharing.Instance, error) {
	info, ret := gi.GetInfo()
	if err := fail(lib, "nvmlGpuInstanceGetInfo", ret); err != nil {
		return sharing.Instance{}, err
	}
	i := sharing.Instance{GI: int(info.Id), Partition: mig.Partition{
		Profile: int(info.ProfileId), Placement: mig.Placement{Start: int(info.Placement.Start), Size: int(info.Placement.Size)}}}
	cis, err := computeInstances(lib, gi)
	if err != nil || len(cis) != 1 || cis[0].slices != int(p.profiles[i.Profile].SliceCount) {
		return i, err
	}
	f, err := describeCompute(lib, cis[0].ci)
	i.CI, i.UUID = f.CI, f.UUID
	return i, err
}

// computeInstance is a compute instance and the number of its slices.
type computeInstance struct {
	ci     nvml.ComputeInstance
	slices int
}

func computeInstances(lib nvml.Interface, gi nvml.GpuInstance) ([]computeInstance, error) {
	var out []computeInstance
	err := eachComputeProfile(lib, gi, func(_ int, info nvml.ComputeInstanceProfileInfo) error {
		cis, ret := gi.GetComputeInstances(&info)
		if err := fail(lib, fmt.Sprintf("nvmlGpuInstanceGetComputeInstances(%d)", info.Id), ret); err != nil {
			return err
		}
		for _, ci := range cis {
			out = append(out, computeInstance{ci: ci, slices: int(info.SliceCount)})
		}
		return nil
	})
	return out, err
}

// eachComputeProfile calls f with the compute instance profiles of a GPU instance,
// in the order of their index.
func eachComputeProfile(lib nvml.Interface, gi nvml.GpuInstance, f func(int, nvml.ComputeInstanceProfileInfo) error) error {
	for i := range nvml.COMPUTE_INSTANCE_PROFILE_COUNT {
		info, ret := gi.GetComputeInstanceProfileInfo(i, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
		if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_INVALID_ARGUMENT {
			continue
		}
		if err := fail(lib, fmt.Sprintf("nvmlGpuInstanceGetComputeInstanceProfileInfo(%d)", i), ret); err != nil {
			return err
		}
		if err := f(i, info); err != nil {
			return err
		}
	}
	return nil
}

// describeCompute returns what is noted of a compute instance.
func describeCompute(lib nvml.Interface, ci nvml.ComputeInstance) (sharing.Fact, error) {
	info, ret := ci.GetInfo()
	if err := fail(lib, "nvmlComputeInstanceGetInfo", ret); err != nil {
		return sharing.Fact{}, err
	}
	// From the instance itself: walking all MIG devices for it takes seconds on a
	// busy node.
	uuid, ret := info.Device.GetUUID()
	return sharing.Fact{CI: int(info.Id), UUID: uuid}, fail(lib, "nvmlDeviceGetUUID", ret)
}

// Instance returns the GPU instance that is exactly this partition.
func (s *Session) Instance(_ context.Context, address string, at mig.Partition) (sharing.Instance, bool, error) {
	var found sharing.Instance
	ok := false
	err := s.partitioned(address, func(lib nvml.Interface, dev nvml.Device, p *partitioning) error {
		got, err := p.ofProfile(lib, dev, at.Profile)
		for _, i := range got {
			if i.Partition == at {
				found, ok = i, true
			}
		}
		return err
	})
	return found, ok && err == nil, err
}
