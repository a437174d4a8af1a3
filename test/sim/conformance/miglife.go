// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// instances is the life of MIG instances on a GPU that has MIG on.
func instances() []behaviour {
	h100 := []string{"H100-80"}
	return []behaviour{
		{name: "an instance is made, found, and destroyed", gpus: h100, mig: true, run: lifeOfAnInstance},
		{name: "instances take their place", gpus: h100, mig: true, run: takesItsPlace},
		{name: "without a placement the driver chooses (seen on A100 and GH200)", gpus: h100, mig: true, run: func(e *env) {
			for _, want := range []uint32{6, 4, 5, 0, 1, 2, 3} {
				gi, ret := e.dev(0).CreateGpuInstance(e.profile(e.dev(0), 0))
				e.is("create", ret, nvml.SUCCESS)
				info, ret := gi.GetInfo()
				equal(e, "start", info.Placement.Start, ret, want)
			}
		}},
		{name: "without a placement what follows is stranded (NVIDIA's MIG user guide)", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			for _, want := range []struct{ profile, start int }{{0, 6}, {0, 4}, {1, 0}} {
				gi, ret := d.CreateGpuInstance(e.profile(d, want.profile))
				e.is("create", ret, nvml.SUCCESS)
				info, ret := gi.GetInfo()
				equal(e, "start", int(info.Placement.Start), ret, want.start)
			}
			_, ret := d.CreateGpuInstance(e.profile(d, 2))
			e.is("3g where it would have had room", ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
		}},
		{name: "remaining capacity", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			e.instance(d, 0, 2)
			for index, want := range map[int]int{0: 6, 7: 1, 9: 3, 1: 2, 2: 1, 3: 0, 4: 0} {
				n, ret := d.GetGpuInstanceRemainingCapacity(e.profile(d, index))
				equal(e, "remaining", n, ret, want)
			}
			_, ret := d.GetGpuInstanceRemainingCapacity(&nvml.GpuInstanceProfileInfo{Id: 99})
			e.is("of an unknown id", ret, nvml.ERROR_INVALID_ARGUMENT)
		}},
		{name: "compute instances share a GPU instance", gpus: h100, mig: true, run: shareAGPUInstance},
		{name: "the second compute profiles", gpus: []string{"H100-80", "H100-80", "H100-80"}, mig: true, run: secondComputeProfiles},
		{name: "destroyed from above", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			gi := e.instance(d, 0, 0)
			ci := e.compute(gi, 0)
			e.is("GPU instance with a compute instance", gi.Destroy(), nvml.ERROR_IN_USE)
			e.is("compute instance", ci.Destroy(), nvml.SUCCESS)
			e.is("GPU instance", gi.Destroy(), nvml.SUCCESS)
		}},
		{name: "somebody else's instances", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			e.do(e.m.CreateInstance(0, 15, 6, true))
			e.do(e.m.CreateInstance(0, 19, 0, false))
			all, ret := d.GetGpuInstances(e.profile(d, 9))
			equal(e, "double-memory instances", len(all), ret, 1)
			all, ret = d.GetGpuInstances(e.profile(d, 0))
			equal(e, "instances without compute instance", len(all), ret, 1)
			mig, ret := d.GetMigDeviceHandleByIndex(0)
			e.is("MIG device", ret, nvml.SUCCESS)
			name, ret := mig.GetName()
			equal(e, "its name", name, ret, "NVIDIA H100 80GB HBM3 MIG 1g.20gb")
			_, ret = d.GetMigDeviceHandleByIndex(1)
			e.is("a GPU instance without compute instance as MIG device", ret, nvml.ERROR_NOT_FOUND)
			e.do(e.m.DestroyInstances(0))
			_, ret = mig.GetUUID()
			e.is("the old MIG device", ret, nvml.ERROR_INVALID_ARGUMENT)
		}},
	}
}

func lifeOfAnInstance(e *env) {
	d := e.dev(0)
	n, ret := d.GetMaxMigDeviceCount()
	equal(e, "MIG devices at most", n, ret, 7)
	gi := e.instance(d, 0, 4)
	info, ret := gi.GetInfo()
	equal(e, "GPU instance", [4]uint32{info.Id, info.ProfileId, info.Placement.Start, info.Placement.Size}, ret, [4]uint32{11, 19, 4, 1})
	equal(e, "its GPU", info.Device, ret, d)
	_, ret = d.GetMigDeviceHandleByIndex(0)
	e.is("MIG device without compute instance", ret, nvml.ERROR_NOT_FOUND)

	ci := e.compute(gi, 0)
	cinfo, ret := ci.GetInfo()
	equal(e, "compute instance", [4]uint32{cinfo.Id, cinfo.ProfileId, cinfo.Placement.Start, cinfo.Placement.Size}, ret, [4]uint32{0, 0, 0, 1})
	equal(e, "its GPU instance", cinfo.GpuInstance, ret, gi)
	mig, ret := d.GetMigDeviceHandleByIndex(0)
	equal(e, "MIG device", mig, ret, cinfo.Device)
	byID, ret := d.GetGpuInstanceById(11)
	equal(e, "GPU instance by id", byID, ret, gi)
	cByID, ret := gi.GetComputeInstanceById(0)
	equal(e, "compute instance by id", cByID, ret, ci)
	all, ret := gi.GetComputeInstances(&nvml.ComputeInstanceProfileInfo{Id: 0, InstanceCount: 1})
	equal(e, "compute instances", len(all), ret, 1)

	e.is("destroy the compute instance", ci.Destroy(), nvml.SUCCESS)
	e.is("destroy it again", ci.Destroy(), nvml.ERROR_INVALID_ARGUMENT)
	e.is("destroy the GPU instance", gi.Destroy(), nvml.SUCCESS)
	e.is("destroy it again", gi.Destroy(), nvml.ERROR_INVALID_ARGUMENT)
	_, ret = d.GetGpuInstanceById(11)
	e.is("GPU instance by id when it is gone", ret, nvml.ERROR_NOT_FOUND)
}

func takesItsPlace(e *env) {
	d := e.dev(0)
	e.instance(d, 0, 1)
	for what, c := range map[string]struct{ profile, start, size int }{
		"the same place":            {0, 1, 1},
		"a place that overlaps":     {1, 0, 2},
		"a start that is not legal": {1, 1, 2},
		"a size that is not its":    {0, 3, 2},
		"outside of the GPU":        {0, 7, 1},
	} {
		_, ret := d.CreateGpuInstanceWithPlacement(e.profile(d, c.profile), &nvml.GpuInstancePlacement{Start: uint32(c.start), Size: uint32(c.size)})
		e.is(what, ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
	}
	e.instance(d, 7, 0)
	_, ret := d.CreateGpuInstanceWithPlacement(e.profile(d, 7), &nvml.GpuInstancePlacement{Start: 2, Size: 1})
	e.is("a second one with media extensions", ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
	_, ret = d.CreateGpuInstanceWithPlacement(&nvml.GpuInstanceProfileInfo{Id: 99}, &nvml.GpuInstancePlacement{Start: 2, Size: 1})
	e.is("an unknown profile", ret, nvml.ERROR_INVALID_ARGUMENT)
	e.instance(d, 2, 4)
	e.instance(d, 1, 2)
	_, ret = d.CreateGpuInstance(e.profile(d, 0))
	e.is("more compute slices than there are", ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
}

func shareAGPUInstance(e *env) {
	d := e.dev(0)
	gi := e.instance(d, 2, 4)
	small := e.computeProfile(gi, 0)
	equal(e, "1c.3g", [3]uint32{small.Id, small.SliceCount, small.InstanceCount}, nvml.SUCCESS, [3]uint32{0, 1, 3})
	places, ret := gi.GetComputeInstancePossiblePlacements(small)
	equal(e, "placements", len(places), ret, 3)
	_, ret = gi.CreateComputeInstanceWithPlacement(small, &places[1])
	e.is("1c.3g in the middle", ret, nvml.SUCCESS)
	_, ret = gi.CreateComputeInstanceWithPlacement(small, &places[1])
	e.is("again there", ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
	_, ret = gi.CreateComputeInstance(e.computeProfile(gi, 1))
	e.is("2c.3g around it", ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
	n, ret := gi.GetComputeInstanceRemainingCapacity(small)
	equal(e, "remaining", n, ret, 2)
	e.compute(gi, 0)
	e.compute(gi, 0)
	_, ret = gi.CreateComputeInstance(small)
	e.is("a fourth", ret, nvml.ERROR_INSUFFICIENT_RESOURCES)
	mig, ret := d.GetMigDeviceHandleByIndex(2)
	e.is("third MIG device", ret, nvml.SUCCESS)
	name, ret := mig.GetName()
	equal(e, "name of a part", name, ret, "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb")
	_, ret = gi.GetComputeInstanceProfileInfo(4, 0)
	e.is("7c in 3g", ret, nvml.ERROR_NOT_SUPPORTED)
	_, ret = gi.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_COUNT, 0)
	e.is("past the last index", ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = gi.CreateComputeInstance(&nvml.ComputeInstanceProfileInfo{Id: 4})
	e.is("create 7c in 3g", ret, nvml.ERROR_INVALID_ARGUMENT)
}

// secondComputeProfiles: NVML lists two profiles of one size, of which one works.
func secondComputeProfiles(e *env) {
	for i, c := range []struct {
		profile        int
		works, refuses int
	}{{4, 4, 8}, {0, 0, 7}, {9, 7, -1}} {
		gi := e.instance(e.dev(i), c.profile, 0)
		if c.refuses >= 0 {
			_, ret := gi.CreateComputeInstance(e.computeProfile(gi, c.refuses))
			e.is("create of the second (unproven on 1g)", ret, nvml.ERROR_NOT_SUPPORTED)
		} else {
			_, ret := gi.GetComputeInstanceProfileInfo(0, 0)
			e.is("the ordinary profile in double memory", ret, nvml.ERROR_NOT_SUPPORTED)
		}
		e.compute(gi, c.works)
	}
}

// profile is a profile that the GPU must have.
func (e *env) profile(d nvml.Device, index int) *nvml.GpuInstanceProfileInfo {
	e.Helper()
	info, ret := d.GetGpuInstanceProfileInfo(index)
	if ret != nvml.SUCCESS {
		e.Fatalf("profile %d: %v", index, ret)
	}
	return &info
}

// instance makes a GPU instance at start.
func (e *env) instance(d nvml.Device, profile, start int) nvml.GpuInstance {
	e.Helper()
	info := e.profile(d, profile)
	places, ret := d.GetGpuInstancePossiblePlacements(info)
	if ret != nvml.SUCCESS {
		e.Fatalf("placements of profile %d: %v", profile, ret)
	}
	gi, ret := d.CreateGpuInstanceWithPlacement(info, &nvml.GpuInstancePlacement{Start: uint32(start), Size: places[0].Size})
	if ret != nvml.SUCCESS {
		e.Fatalf("making profile %d at %d: %v", profile, start, ret)
	}
	return gi
}

func (e *env) computeProfile(gi nvml.GpuInstance, index int) *nvml.ComputeInstanceProfileInfo {
	e.Helper()
	info, ret := gi.GetComputeInstanceProfileInfo(index, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	if ret != nvml.SUCCESS {
		e.Fatalf("compute profile %d: %v", index, ret)
	}
	return &info
}

// compute makes a compute instance.
func (e *env) compute(gi nvml.GpuInstance, profile int) nvml.ComputeInstance {
	e.Helper()
	ci, ret := gi.CreateComputeInstance(e.computeProfile(gi, profile))
	if ret != nvml.SUCCESS {
		e.Fatalf("making compute profile %d: %v", profile, ret)
	}
	return ci
}
