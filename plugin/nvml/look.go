// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/sharing"
)

// Look asks every GPU what it is.
func (s *Session) Look(ctx context.Context) (sharing.Look, error) {
	var look sharing.Look
	err := s.With(func(lib nvml.Interface) error {
		n, ret := lib.DeviceGetCount()
		if err := fail(lib, "nvmlDeviceGetCount", ret); err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		common, err := driverFacts(lib)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		look = sharing.Look{}
		s.handles = map[string]nvml.Device{}
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			g, err := s.ask(lib, i, common)
			if errors.Is(err, ErrUnreachable) {
				return err
			}
			if err != nil {
				look.Sick = append(look.Sick, sharing.Sick{Address: g.Address, Why: err.Error()})
				continue
			}
			look.GPUs = append(look.GPUs, g)
		}
		return nil
	})
	if err != nil {
		return sharing.Look{}, err
	}
	return look, nil
}

// driverFacts are the facts that all GPUs share.
func driverFacts(lib nvml.Interface) (sharing.GPU, error) {
	version, ret := lib.SystemGetDriverVersion()
	if err := fail(lib, "nvmlSystemGetDriverVersion", ret); err != nil {
		return sharing.GPU{}, err
	}
	cuda, ret := lib.SystemGetCudaDriverVersion()
	if err := fail(lib, "nvmlSystemGetCudaDriverVersion", ret); err != nil {
		return sharing.GPU{}, err
	}
	return sharing.GPU{
		DriverVersion: sharing.Semver(version),
		// 12020 is 12.2 (nvml.h, NVML_CUDA_DRIVER_VERSION_MAJOR).
		CUDAVersion: sharing.Semver(fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10)),
	}, nil
}

// ask gathers the facts of one GPU. On an error the address is set if it was
// learnt.
func (s *Session) ask(lib nvml.Interface, index int, common sharing.GPU) (sharing.Present, error) {
	g := sharing.Present{GPU: common}
	dev, ret := lib.DeviceGetHandleByIndex(index)
	if err := fail(lib, fmt.Sprintf("nvmlDeviceGetHandleByIndex(%d)", index), ret); err != nil {
		return g, err
	}
	pci, ret := dev.GetPciInfo()
	if err := fail(lib, "nvmlDeviceGetPciInfo", ret); err != nil {
		return g, err
	}
	var err error
	if g.Address, err = address(pci); err != nil {
		return g, err
	}
	for _, q := range questions {
		if err := q(lib, dev, &g.GPU); err != nil {
			return g, err
		}
	}
	if err := s.present(lib, dev, &g); err != nil {
		return g, err
	}
	s.memoryLimits(lib, dev, &g)
	platform(s.sysRoot, &g.GPU)
	s.handles[g.Address] = dev
	return g, nil
}

// present adds what the GPU is now.
func (s *Session) present(lib nvml.Interface, dev nvml.Device, g *sharing.Present) error {
	p, err := s.partitioning(lib, dev, &g.GPU)
	if err != nil || p == nil {
		return err
	}
	g.MIG = p.facts
	current, pending, ret := dev.GetMigMode()
	if err := fail(lib, "nvmlDeviceGetMigMode", ret); err != nil {
		return err
	}
	g.MIGMode = sharing.MIGMode{On: current == nvml.DEVICE_MIG_ENABLE, Pending: pending == nvml.DEVICE_MIG_ENABLE}
	if !g.On {
		return nil
	}
	if g.Instances, err = p.instances(lib, dev); err != nil {
		// Somebody may have destroyed one between the list and the question about it:
		// that makes no GPU sick.
		g.Instances, err = p.instances(lib, dev)
	}
	return err
}

// Processes returns how many processes use the GPU, counting compute, graphics
// and MPS clients.
func (s *Session) Processes(_ context.Context, address string) (int, error) {
	total := 0
	err := s.With(func(lib nvml.Interface) error {
		dev, err := s.device(lib, address)
		if err != nil {
			return err
		}
		for name, list := range map[string]func() ([]nvml.ProcessInfo, nvml.Return){
			"nvmlDeviceGetComputeRunningProcesses":    dev.GetComputeRunningProcesses,
			"nvmlDeviceGetGraphicsRunningProcesses":   dev.GetGraphicsRunningProcesses,
			"nvmlDeviceGetMPSComputeRunningProcesses": dev.GetMPSComputeRunningProcesses,
		} {
			procs, ret := list()
			if ret == nvml.ERROR_NOT_SUPPORTED {
				continue
			}
			if err := fail(lib, name, ret); err != nil {
				return err
			}
			total += len(procs)
		}
		return nil
	})
	return total, err
}
