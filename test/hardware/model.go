// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// model asks for what all GPUs of a model have in common.
func (g *gpu) model() {
	g.call("name", "nvmlDeviceGetName", func() (any, nvml.Return) {
		v, ret := g.dev.GetName()
		g.product.Name = v
		return v, ret
	})
	g.call("brand", "nvmlDeviceGetBrand", func() (any, nvml.Return) {
		v, ret := g.dev.GetBrand()
		g.product.Brand = brand(v)
		return g.product.Brand, ret
	})
	g.call("architecture", "nvmlDeviceGetArchitecture", func() (any, nvml.Return) {
		v, ret := g.dev.GetArchitecture()
		g.product.Architecture = architecture(v)
		// Hopper was the first to change its mode without a reset (NVIDIA MIG user guide).
		g.product.MIGNeedsReset = v == nvml.DEVICE_ARCH_AMPERE
		return g.product.Architecture, ret
	})
	g.call("compute capability", "nvmlDeviceGetCudaComputeCapability", func() (any, nvml.Return) {
		major, minor, ret := g.dev.GetCudaComputeCapability()
		g.product.ComputeMajor, g.product.ComputeMinor = major, minor
		return fmt.Sprintf("%d.%d", major, minor), ret
	})
	g.call("module id", "nvmlDeviceGetModuleId", func() (any, nvml.Return) {
		v, ret := g.dev.GetModuleId()
		g.product.SXM = ret == nvml.SUCCESS && v > 0
		if v > 0 {
			return "one of a baseboard", ret
		}
		return v, ret
	})
	g.call("addressing mode", "nvmlDeviceGetAddressingMode", func() (any, nvml.Return) {
		v, ret := g.dev.GetAddressingMode()
		word := addressing(nvml.DeviceAddressingModeType(v.Value))
		if ret == nvml.SUCCESS && v.Value != uint32(nvml.DEVICE_ADDRESSING_MODE_NONE) {
			g.product.Addressing = word
		}
		return word, ret
	})
}

// memory is not supported where GPU and host share it.
func (g *gpu) memory() {
	g.product.MemoryQuery = g.call("memory, MiB", "nvmlDeviceGetMemoryInfo", func() (any, nvml.Return) {
		v, ret := g.dev.GetMemoryInfo()
		g.product.MemoryMiB = v.Total >> 20
		return g.product.MemoryMiB, ret
	})
	g.call("memory with what is reserved", "nvmlDeviceGetMemoryInfo_v2", func() (any, nvml.Return) {
		v, ret := g.dev.GetMemoryInfo_v2()
		g.product.ReservedMiB = v.Reserved >> 20 // the driver's, so recorded and not compared
		return succeeded, ret
	})
}

// brand is a word of test/sim/products; a brand that has none there yet is its
// number in nvml.h.
func brand(b nvml.BrandType) string {
	switch b {
	case nvml.BRAND_NVIDIA:
		return "NVIDIA"
	case nvml.BRAND_TESLA:
		return "TESLA"
	}
	return "brand " + strconv.Itoa(int(b))
}

func architecture(a nvml.DeviceArchitecture) string {
	switch a {
	case nvml.DEVICE_ARCH_PASCAL:
		return "Pascal"
	case nvml.DEVICE_ARCH_VOLTA:
		return "Volta"
	case nvml.DEVICE_ARCH_TURING:
		return "Turing"
	case nvml.DEVICE_ARCH_AMPERE:
		return "Ampere"
	case nvml.DEVICE_ARCH_ADA:
		return "Ada Lovelace"
	case nvml.DEVICE_ARCH_HOPPER:
		return "Hopper"
	case nvml.DEVICE_ARCH_BLACKWELL:
		return "Blackwell"
	}
	return "architecture " + strconv.Itoa(int(a))
}

func addressing(m nvml.DeviceAddressingModeType) string {
	switch m {
	case nvml.DEVICE_ADDRESSING_MODE_HMM:
		return "HMM"
	case nvml.DEVICE_ADDRESSING_MODE_ATS:
		return "ATS"
	case nvml.DEVICE_ADDRESSING_MODE_NONE:
		return "none"
	}
	return "mode " + strconv.Itoa(int(m))
}
