// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// partitions is what MIG calls answer while it is off.
func partitions() []behaviour {
	capable := []string{"A30-24", "A100-40", "A100-80", "H100-80", "H200-141"}
	return []behaviour{
		{name: "MIG is off where there is MIG", gpus: capable, run: func(e *env) {
			for i, product := range capable {
				d := e.dev(i)
				current, pending, ret := d.GetMigMode()
				equal(e, product, [2]int{current, pending}, ret, [2]int{nvml.DEVICE_MIG_DISABLE, nvml.DEVICE_MIG_DISABLE})
				n, ret := d.GetMaxMigDeviceCount()
				equal(e, product+" MIG devices", n, ret, 0)
				_, ret = d.GetMigDeviceHandleByIndex(0)
				e.is(product+" MIG device", ret, nvml.ERROR_NOT_FOUND)
				_, ret = d.GetGpuInstanceById(0)
				e.is(product+" GPU instance", ret, nvml.ERROR_NOT_SUPPORTED)
			}
		}},
		{name: "no MIG on other parts", gpus: []string{"L40S", "T4", "P4", "GB10"}, run: func(e *env) {
			for i := range 4 {
				d := e.dev(i)
				_, _, ret := d.GetMigMode()
				e.is("mode", ret, nvml.ERROR_NOT_SUPPORTED)
				n, ret := d.GetMaxMigDeviceCount()
				equal(e, "MIG devices", n, ret, 0)
				is, ret := d.IsMigDeviceHandle()
				equal(e, "a GPU is a MIG device", is, ret, false)
				_, ret = d.GetGpuInstanceProfileInfo(0)
				e.is("profile", ret, nvml.ERROR_NOT_SUPPORTED)
			}
		}},
		{name: "profiles and placements with MIG off", gpus: capable, run: func(e *env) {
			for i, product := range capable {
				walkProfiles(e, product, e.dev(i))
			}
		}},
	}
}

// walkProfiles walks the profile indexes as consumers do.
func walkProfiles(e *env, product string, d nvml.Device) {
	p, err := sim.LookupProduct(product)
	e.do(err)
	found := 0
	for i := range nvml.GPU_INSTANCE_PROFILE_COUNT {
		info, ret := d.GetGpuInstanceProfileInfo(i)
		want, ok := p.Profile(i)
		if !ok {
			e.is(product+": a profile it does not have", ret, nvml.ERROR_NOT_SUPPORTED)
			continue
		}
		found++
		equal(e, product+" "+want.Name, [3]int{int(info.Id), int(info.SliceCount), int(info.MemorySizeMB)}, ret,
			[3]int{want.ID, want.ComputeSlices, int(want.MemoryMiB)})
		places, ret := d.GetGpuInstancePossiblePlacements(&info)
		equal(e, product+" "+want.Name+" placements", len(places), ret, len(want.Starts))
		for j, at := range places {
			equal(e, product+" "+want.Name, at, ret, nvml.GpuInstancePlacement{Start: uint32(want.Starts[j]), Size: uint32(want.MemoryUnits)})
		}
	}
	equal(e, product+" profiles", found, nvml.SUCCESS, len(p.Profiles))
	_, ret := d.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_COUNT)
	e.is(product+": past the last index", ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = d.GetGpuInstancePossiblePlacements(&nvml.GpuInstanceProfileInfo{Id: 99})
	e.is(product+": placements of an unknown id", ret, nvml.ERROR_INVALID_ARGUMENT)
}
