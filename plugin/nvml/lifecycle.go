// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// CreateGPUInstance makes the partition's GPU instance and returns its id.
func (s *Session) CreateGPUInstance(_ context.Context, address string, at mig.Partition) (int, error) {
	id := 0
	err := s.partitioned(address, func(lib nvml.Interface, dev nvml.Device, p *partitioning) error {
		info, ok := p.profiles[at.Profile]
		if !ok {
			return api.Errorf(api.NotFound, "the GPU at %s has no MIG profile %d", address, at.Profile)
		}
		placement := nvml.GpuInstancePlacement{Start: uint32(at.Start), Size: uint32(at.Size)}
		// Without a placement the driver chooses one, in the way of later ones.
		gi, ret := dev.CreateGpuInstanceWithPlacement(&info, &placement)
		if ret == nvml.ERROR_INSUFFICIENT_RESOURCES {
			return api.Errorf(api.Held, "nvmlDeviceCreateGpuInstanceWithPlacement says %s: something that no claim accounts for takes the place; see nvidia-smi mig -lgi", lib.ErrorString(ret))
		}
		if err := fail(lib, "nvmlDeviceCreateGpuInstanceWithPlacement", ret); err != nil {
			return err
		}
		made, ret := gi.GetInfo()
		id = int(made.Id)
		return fail(lib, "nvmlGpuInstanceGetInfo", ret)
	})
	return id, err
}

// CreateComputeInstance makes the compute instance that has all of the GPU
// instance with this id.
func (s *Session) CreateComputeInstance(_ context.Context, address string, id int) (sharing.Fact, error) {
	var fact sharing.Fact
	err := s.partitioned(address, func(lib nvml.Interface, dev nvml.Device, p *partitioning) error {
		gi, ret := dev.GetGpuInstanceById(id)
		if err := fail(lib, fmt.Sprintf("nvmlDeviceGetGpuInstanceById(%d)", id), ret); err != nil {
			return err
		}
		ci, err := p.fill(lib, gi)
		if err != nil {
			return err
		}
		fact, err = describeCompute(lib, ci)
		fact.GI = id
		return err
	})
	return fact, err
}

// fill makes the compute instance that has all of the GPU instance. Several
// profiles can be that large; the later ones are revisions that not every GPU
// can make.
func (p *partitioning) fill(lib nvml.Interface, gi nvml.GpuInstance) (nvml.ComputeInstance, error) {
	info, ret := gi.GetInfo()
	if err := fail(lib, "nvmlGpuInstanceGetInfo", ret); err != nil {
		return nil, err
	}
	var made nvml.ComputeInstance
	last := error(api.Errorf(api.Internal, "GPU instance %d has no compute instance profile of %d slices", info.Id, p.profiles[int(info.ProfileId)].SliceCount))
	err := eachComputeProfile(lib, gi, func(_ int, c nvml.ComputeInstanceProfileInfo) error {
		if made != nil || c.SliceCount != p.profiles[int(info.ProfileId)].SliceCount {
			return nil
		}
		ci, ret := gi.CreateComputeInstance(&c)
		if last = fail(lib, fmt.Sprintf("nvmlGpuInstanceCreateComputeInstance(%d)", c.Id), ret); last == nil {
			made = ci
		}
		if ret == nvml.ERROR_NOT_SUPPORTED {
			return nil // try the next revision
		}
		return last
	})
	if err == nil && made == nil {
		err = last
	}
	return made, err
}

// DestroyInstance destroys the GPU instance with this id and what is in it. One
// that is not there is no error.
func (s *Session) DestroyInstance(_ context.Context, address string, id int) error {
	return s.partitioned(address, func(lib nvml.Interface, dev nvml.Device, _ *partitioning) error {
		gi, ret := dev.GetGpuInstanceById(id)
		if ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_NOT_SUPPORTED {
			return nil // the second: MIG mode is off, and so there is none
		}
		if err := fail(lib, fmt.Sprintf("nvmlDeviceGetGpuInstanceById(%d)", id), ret); err != nil {
			return err
		}
		cis, err := computeInstances(lib, gi)
		if err != nil {
			return err
		}
		for _, c := range cis {
			if err := fail(lib, "nvmlComputeInstanceDestroy", c.ci.Destroy()); err != nil {
				return err
			}
		}
		return fail(lib, "nvmlGpuInstanceDestroy", gi.Destroy())
	})
}
