// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
)

// pci asks for the address in its two spellings and for the ids.
func (g *gpu) pci() {
	const symbol = "nvmlDeviceGetPciInfo_v3"
	info := func(f func(nvml.PciInfo) any) func() (any, nvml.Return) {
		return func() (any, nvml.Return) {
			v, ret := g.dev.GetPciInfo()
			return f(v), ret
		}
	}
	g.call("bus id", symbol, info(func(v nvml.PciInfo) any { return text(v.BusId[:]) }))
	g.call("legacy bus id", symbol, info(func(v nvml.PciInfo) any {
		g.address = strings.ToLower(text(v.BusIdLegacy[:]))
		return text(v.BusIdLegacy[:])
	}))
	g.call("the bus id spells domain, bus and device", symbol, info(func(v nvml.PciInfo) any {
		return strings.HasPrefix(strings.ToLower(text(v.BusId[:])), fmt.Sprintf("%08x:%02x:%02x.", v.Domain, v.Bus, v.Device))
	}))
	g.call("PCI device and vendor id", symbol, info(func(v nvml.PciInfo) any {
		g.product.PCIDeviceID = uint16(v.PciDeviceId >> 16)
		g.product.PCISubsystem = uint16(v.PciSubSystemId >> 16) // the board's, so recorded and not compared
		return fmt.Sprintf("%#08x", v.PciDeviceId)
	}))
}

// handles asks whether the names of a GPU lead back to it.
func (g *gpu) handles() {
	g.call("index", "nvmlDeviceGetIndex", func() (any, nvml.Return) {
		v, ret := g.dev.GetIndex()
		if v == g.index {
			return "the one asked for", ret
		}
		return v, ret
	})
	g.call("minor number", "nvmlDeviceGetMinorNumber", value(g.dev.GetMinorNumber))
	g.call("form of the UUID", "nvmlDeviceGetUUID", func() (any, nvml.Return) {
		v, ret := g.dev.GetUUID()
		return form(v), ret
	})
	uuid, _ := g.dev.GetUUID()
	g.call("its UUID leads to it", "nvmlDeviceGetHandleByUUID", func() (any, nvml.Return) { return g.same(g.lib.DeviceGetHandleByUUID(uuid)) })
	pci, _ := g.dev.GetPciInfo()
	long, legacy := text(pci.BusId[:]), text(pci.BusIdLegacy[:])
	for _, c := range []struct{ spelling, id string }{
		{"bus id", long}, {"bus id in lower case", strings.ToLower(long)},
		// The last is how Kubernetes writes it and the product asks.
		{"legacy bus id", legacy}, {"legacy bus id in lower case", strings.ToLower(legacy)},
	} {
		g.call("its "+c.spelling+" leads to it", "nvmlDeviceGetHandleByPciBusId_v2", func() (any, nvml.Return) { return g.same(g.lib.DeviceGetHandleByPciBusId(c.id)) })
	}
	g.call("a UUID that nobody has", "nvmlDeviceGetHandleByUUID", func() (any, nvml.Return) {
		_, ret := g.lib.DeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000")
		return succeeded, ret
	})
}

// same answers whether a handle is one to this GPU.
func (g *gpu) same(dev readonly.Device, ret nvml.Return) (any, nvml.Return) {
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	want, ret := g.dev.GetUUID()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	got, ret := dev.GetUUID()
	return got == want, ret
}

// form is how something is spelt: each hexadecimal digit is an x, and a capital
// one an X. Of a MIG UUID the digit that tells how it was made stays.
func form(s string) string {
	prefix := ""
	for _, p := range []string{"GPU-", "MIG-GPU-", "MIG-"} {
		if strings.HasPrefix(s, p) {
			prefix, s = p, strings.TrimPrefix(s, p)
			break
		}
	}
	// RFC 9562: the version is the first digit of the third group.
	const version = len("xxxxxxxx-xxxx-")
	var b strings.Builder
	for i, c := range s {
		switch {
		case prefix == "MIG-" && i == version:
			b.WriteRune(c)
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'f':
			b.WriteByte('x')
		case c >= 'A' && c <= 'F':
			b.WriteByte('X')
		default:
			b.WriteRune(c)
		}
	}
	return prefix + b.String()
}

// text is a C string in a field of a structure.
func text[T int8 | uint8](field []T) string {
	var b strings.Builder
	for _, c := range field {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}
