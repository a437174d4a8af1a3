// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// modes are the compute modes by their number in nvml.h; 1 was one that drivers no
// longer have.
var modes = map[nvml.ComputeMode]sharing.ComputeMode{
	nvml.COMPUTEMODE_DEFAULT:           sharing.ComputeDefault,
	nvml.COMPUTEMODE_PROHIBITED:        sharing.ComputeProhibited,
	nvml.COMPUTEMODE_EXCLUSIVE_PROCESS: sharing.ComputeExclusive,
}

// ComputeMode returns the compute mode of the GPU at the PCI address.
func (s *Session) ComputeMode(_ context.Context, address string) (sharing.ComputeMode, error) {
	var mode sharing.ComputeMode
	err := s.With(func(lib nvml.Interface) error {
		dev, err := s.device(lib, address)
		if err != nil {
			return err
		}
		number, ret := dev.GetComputeMode()
		if err := fail(lib, "nvmlDeviceGetComputeMode", ret); err != nil {
			return err
		}
		known := false
		if mode, known = modes[number]; !known {
			return api.Errorf(api.Unsupported, "the GPU at %s has compute mode %d, which this release does not know", address, number)
		}
		return nil
	})
	return mode, err
}

// SetComputeMode makes it another one. It takes effect at once, for contexts that
// are made from then on.
func (s *Session) SetComputeMode(_ context.Context, address string, mode sharing.ComputeMode) error {
	return s.With(func(lib nvml.Interface) error {
		dev, err := s.device(lib, address)
		if err != nil {
			return err
		}
		for number, m := range modes {
			if m == mode {
				return fail(lib, "nvmlDeviceSetComputeMode", dev.SetComputeMode(number))
			}
		}
		return api.Errorf(api.Internal, "there is no compute mode %q", mode)
	})
}

// memoryLimits finds out whether the driver can limit the memory of containers on
// the GPU (NVML 13.4, nvmlDeviceSetMemoryLimits_v1): it can when it tells the limits
// of the cgroup that theirs are in. While the GPU is partitioned it refuses to say; the answer is kept,
// since it must not change with the mode, and is no until there is one.
func (s *Session) memoryLimits(lib nvml.Interface, dev nvml.Device, g *sharing.Present) {
	// Calling what the library does not have ends the process.
	for _, name := range [...]string{"nvmlDeviceSetMemoryLimits_v1", "nvmlDeviceGetMemoryLimits_v1"} {
		if lib.Extensions().LookupSymbol(name) != nil {
			return
		}
	}
	if _, asked := s.limitable[g.UUID]; !asked && !g.On {
		_, ret := dev.GetMemoryLimits_v1(s.cgroup())
		s.limitable[g.UUID] = ret == nvml.SUCCESS
	}
	g.MemoryLimits = s.limitable[g.UUID]
}
