// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware_test

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// doctor says in what hardware is not as the simulator's tables have it.
type doctor struct {
	init    nvml.Return
	lacks   string
	uuid    func(string) string
	profile func(index int, p *nvml.GpuInstanceProfileInfo)
	places  func(id uint32, p []nvml.GpuInstancePlacement) []nvml.GpuInstancePlacement
}

// doctored is a library that answers so.
type doctored struct {
	nvml.Interface
	doctor
}

func (d doctored) Init() nvml.Return {
	if d.init != nvml.SUCCESS {
		return d.init
	}
	return d.Interface.Init()
}

func (d doctored) Extensions() nvml.ExtendedInterface {
	return lacking{d.Interface.Extensions(), d.lacks}
}

type lacking struct {
	nvml.ExtendedInterface
	name string
}

func (l lacking) LookupSymbol(name string) error {
	if name == l.name {
		return fmt.Errorf("undefined symbol: %s", name)
	}
	return l.ExtendedInterface.LookupSymbol(name)
}

func (d doctored) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	dev, ret := d.Interface.DeviceGetHandleByIndex(i)
	return doctoredGPU{dev, d.doctor}, ret
}

type doctoredGPU struct {
	nvml.Device
	doctor
}

func (g doctoredGPU) GetUUID() (string, nvml.Return) {
	v, ret := g.Device.GetUUID()
	if g.uuid != nil {
		v = g.uuid(v)
	}
	return v, ret
}

func (g doctoredGPU) GetGpuInstanceProfileInfo(i int) (nvml.GpuInstanceProfileInfo, nvml.Return) {
	v, ret := g.Device.GetGpuInstanceProfileInfo(i)
	if g.profile != nil {
		g.profile(i, &v)
	}
	return v, ret
}

func (g doctoredGPU) GetGpuInstancePossiblePlacements(info *nvml.GpuInstanceProfileInfo) ([]nvml.GpuInstancePlacement, nvml.Return) {
	v, ret := g.Device.GetGpuInstancePossiblePlacements(info)
	if g.places != nil {
		v = g.places(info.Id, v)
	}
	return v, ret
}
