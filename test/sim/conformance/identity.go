// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func identities() []behaviour {
	return []behaviour{
		{name: "the walkthrough's A30", gpus: []string{"A30-24"}, run: walkthroughA30},
		{name: "a machine without GPUs", run: func(e *env) {
			n, ret := e.lib.DeviceGetCount()
			equal(e, "count", n, ret, 0)
			_, ret = e.lib.DeviceGetHandleByIndex(0)
			e.is("handle", ret, nvml.ERROR_INVALID_ARGUMENT)
		}},
		{name: "handles by index, UUID and address are one handle", gpus: []string{"T4", "T4"}, run: oneHandle},
		{name: "unknown GPUs", gpus: []string{"T4"}, run: func(e *env) {
			_, ret := e.lib.DeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000")
			e.is("by UUID", ret, nvml.ERROR_NOT_FOUND)
			_, ret = e.lib.DeviceGetHandleByUUID("MIG-0929581a-2be6-5dec-bf34-0954c6c529a6")
			e.is("by UUID of a MIG device", ret, nvml.ERROR_NOT_FOUND)
			_, ret = e.lib.DeviceGetHandleByUUID("")
			e.is("by no UUID", ret, nvml.ERROR_INVALID_ARGUMENT)
			_, ret = e.lib.DeviceGetHandleByPciBusId("00000000:01:00.0")
			e.is("by address", ret, nvml.ERROR_NOT_FOUND)
			for _, index := range []int{-1, 1} {
				_, ret = e.lib.DeviceGetHandleByIndex(index)
				e.is("by index", ret, nvml.ERROR_INVALID_ARGUMENT)
			}
		}},
		{name: "products differ", gpus: []string{"A100-40", "H100-80", "L40S", "T4", "P4", "GB10"}, run: productsDiffer},
		{name: "indexes and minors move, UUIDs stay", gpus: []string{"A30-24", "T4"}, run: func(e *env) {
			d := e.dev(0)
			e.do(e.m.Reorder([]int{1, 0}, true))
			i, ret := d.GetIndex()
			equal(e, "index", i, ret, 1)
			i, ret = d.GetMinorNumber()
			equal(e, "minor", i, ret, 1)
			name, ret := d.GetName()
			equal(e, "name", name, ret, "NVIDIA A30")
			name, ret = e.dev(0).GetName()
			equal(e, "name of the GPU that is now first", name, ret, "Tesla T4")
		}},
	}
}

func walkthroughA30(e *env) {
	d := e.dev(0)
	name, ret := d.GetName()
	equal(e, "name", name, ret, "NVIDIA A30")
	brand, ret := d.GetBrand()
	equal(e, "brand", brand, ret, nvml.BRAND_NVIDIA)
	arch, ret := d.GetArchitecture()
	equal(e, "architecture", arch, ret, nvml.DEVICE_ARCH_AMPERE)
	major, minor, ret := d.GetCudaComputeCapability()
	equal(e, "compute capability", [2]int{major, minor}, ret, [2]int{8, 0})
	index, ret := d.GetIndex()
	equal(e, "index", index, ret, 0)
	node, ret := d.GetMinorNumber()
	equal(e, "minor", node, ret, 0)
	module, ret := d.GetModuleId()
	equal(e, "module", module, ret, 0)
	pci, ret := d.GetPciInfo()
	equal(e, "bus id", text(pci.BusId[:]), ret, "00000000:65:01.0")
	equal(e, "legacy bus id", text(pci.BusIdLegacy[:]), ret, "0000:65:01.0")
	equal(e, "numbers", [3]uint32{pci.Domain, pci.Bus, pci.Device}, ret, [3]uint32{0, 0x65, 1})
	equal(e, "device id", pci.PciDeviceId, ret, 0x20b710de)
	mem, ret := d.GetMemoryInfo()
	equal(e, "memory", mem.Total, ret, 24<<30)
	virt, ret := d.GetVirtualizationMode()
	equal(e, "virtualisation", virt, ret, nvml.GPU_VIRTUALIZATION_MODE_NONE)
}

func oneHandle(e *env) {
	want := e.dev(1)
	uuid, ret := want.GetUUID()
	e.is("UUID", ret, nvml.SUCCESS)
	d, ret := e.lib.DeviceGetHandleByUUID(uuid)
	equal(e, "by UUID", d, ret, want)
	for _, id := range []string{"0000:75:01.0", "00000000:75:01.0"} {
		d, ret = e.lib.DeviceGetHandleByPciBusId(id)
		equal(e, "by address "+id, d, ret, want)
	}
	other, ret := e.dev(0).GetUUID()
	if ret != nvml.SUCCESS || other == uuid {
		e.Errorf("two GPUs have one UUID, %s (%v)", other, ret)
	}
}

func productsDiffer(e *env) {
	addressing := map[string]nvml.DeviceAddressingModeType{
		"GB10": nvml.DEVICE_ADDRESSING_MODE_ATS, "L40S": nvml.DEVICE_ADDRESSING_MODE_HMM,
	}
	for i, product := range []string{"A100-40", "H100-80", "L40S", "T4", "P4", "GB10"} {
		p, err := sim.LookupProduct(product)
		e.do(err)
		d := e.dev(i)
		name, ret := d.GetName()
		equal(e, product, name, ret, p.Name)
		mem, ret := d.GetMemoryInfo()
		if product == "GB10" {
			e.is("memory of a GB10", ret, nvml.ERROR_NOT_SUPPORTED)
		} else {
			equal(e, product+" memory", mem.Total, ret, p.MemoryMiB<<20)
		}
		mode, ret := d.GetAddressingMode()
		if want, ok := addressing[product]; ok {
			equal(e, product+" addressing", nvml.DeviceAddressingModeType(mode.Value), ret, want)
		} else {
			e.is(product+" addressing", ret, nvml.ERROR_NOT_SUPPORTED)
		}
	}
}
