// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// device is a handle to a GPU. It names the GPU by UUID, so it stays a handle
// to the same board when indexes and minors change.
type device struct{ baseDevice }

// get answers a call with a value of the GPU and its product.
func get[T any](d *device, name string, f func(*sim.State, *sim.GPU, sim.Product) (T, nvml.Return)) (T, nvml.Return) {
	return ask(d.refuser, name, func(see sight) (T, nvml.Return) { return f(see.State, see.gpu, see.product) })
}

func (d *device) GetUUID() (string, nvml.Return) {
	return get(d, "nvmlDeviceGetUUID", func(_ *sim.State, g *sim.GPU, _ sim.Product) (string, nvml.Return) {
		return g.UUID, nvml.SUCCESS
	})
}

func (d *device) GetName() (string, nvml.Return) {
	return get(d, "nvmlDeviceGetName", func(_ *sim.State, _ *sim.GPU, p sim.Product) (string, nvml.Return) {
		return p.Name, nvml.SUCCESS
	})
}

func (d *device) GetIndex() (int, nvml.Return) {
	return get(d, "nvmlDeviceGetIndex", func(s *sim.State, g *sim.GPU, _ sim.Product) (int, nvml.Return) {
		return s.Index(g.UUID), nvml.SUCCESS
	})
}

func (d *device) GetMinorNumber() (int, nvml.Return) {
	return get(d, "nvmlDeviceGetMinorNumber", func(_ *sim.State, g *sim.GPU, _ sim.Product) (int, nvml.Return) {
		return g.Minor, nvml.SUCCESS
	})
}

func (d *device) GetModuleId() (int, nvml.Return) {
	return get(d, "nvmlDeviceGetModuleId", func(_ *sim.State, g *sim.GPU, _ sim.Product) (int, nvml.Return) {
		return g.ModuleID, nvml.SUCCESS
	})
}

func (d *device) GetBrand() (nvml.BrandType, nvml.Return) {
	return get(d, "nvmlDeviceGetBrand", func(_ *sim.State, _ *sim.GPU, p sim.Product) (nvml.BrandType, nvml.Return) {
		switch p.Brand {
		case "NVIDIA":
			return nvml.BRAND_NVIDIA, nvml.SUCCESS
		case "TESLA":
			return nvml.BRAND_TESLA, nvml.SUCCESS
		}
		return nvml.BRAND_UNKNOWN, nvml.SUCCESS
	})
}

func (d *device) GetArchitecture() (nvml.DeviceArchitecture, nvml.Return) {
	return get(d, "nvmlDeviceGetArchitecture", func(_ *sim.State, _ *sim.GPU, p sim.Product) (nvml.DeviceArchitecture, nvml.Return) {
		archs := map[string]nvml.DeviceArchitecture{
			"Pascal": nvml.DEVICE_ARCH_PASCAL, "Volta": nvml.DEVICE_ARCH_VOLTA, "Turing": nvml.DEVICE_ARCH_TURING,
			"Ampere": nvml.DEVICE_ARCH_AMPERE, "Ada Lovelace": nvml.DEVICE_ARCH_ADA,
			"Hopper": nvml.DEVICE_ARCH_HOPPER, "Blackwell": nvml.DEVICE_ARCH_BLACKWELL,
		}
		if a, ok := archs[p.Architecture]; ok {
			return a, nvml.SUCCESS
		}
		return nvml.DEVICE_ARCH_UNKNOWN, nvml.SUCCESS
	})
}

func (d *device) GetCudaComputeCapability() (int, int, nvml.Return) {
	cc, ret := get(d, "nvmlDeviceGetCudaComputeCapability", func(_ *sim.State, _ *sim.GPU, p sim.Product) ([2]int, nvml.Return) {
		return [2]int{p.ComputeMajor, p.ComputeMinor}, nvml.SUCCESS
	})
	return cc[0], cc[1], ret
}

func (d *device) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	return get(d, "nvmlDeviceGetPciInfo_v3", func(_ *sim.State, g *sim.GPU, p sim.Product) (nvml.PciInfo, nvml.Return) {
		return pciInfo(g, p)
	})
}

// pciInfo spells an address as NVML does: upper case, in the legacy field with
// 4 digits of domain and in the other with 8.
func pciInfo(g *sim.GPU, p sim.Product) (nvml.PciInfo, nvml.Return) {
	part := strings.FieldsFunc(g.PCI, func(r rune) bool { return r == ':' || r == '.' })
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(part[i], 16, 32); err != nil {
			return nvml.PciInfo{}, nvml.ERROR_UNKNOWN
		}
	}
	const vendor = 0x10de
	info := nvml.PciInfo{
		Domain: uint32(n[0]), Bus: uint32(n[1]), Device: uint32(n[2]),
		PciDeviceId: uint32(p.PCIDeviceID)<<16 | vendor, PciSubSystemId: uint32(p.PCISubsystem)<<16 | vendor,
	}
	putText(info.BusIdLegacy[:], strings.ToUpper(g.PCI))
	putText(info.BusId[:], fmt.Sprintf("%08X:%02X:%02X.%s", n[0], n[1], n[2], part[3]))
	return info, nvml.SUCCESS
}

// putText writes a C string into a field that is long enough.
func putText(field []int8, s string) {
	for i := range s {
		field[i] = int8(s[i])
	}
}
