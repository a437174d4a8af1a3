// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// migDevices is what a MIG device answers, and who it is.
func migDevices() []behaviour {
	h100 := []string{"H100-80"}
	return []behaviour{
		{name: "a MIG device describes itself", gpus: h100, mig: true, run: describesItself},
		{name: "the same partition made again is the same to see (unproven) and another to hold", gpus: h100, mig: true, run: madeAgain},
		{name: "MIG UUIDs of drivers before R470", gpus: []string{"A100-40"}, mig: true, driver: "460.32.03", run: func(e *env) {
			d := e.dev(0)
			mig := e.migDevice(e.compute(e.instance(d, 0, 6), 0))
			gpu, ret := d.GetUUID()
			e.is("UUID of the GPU", ret, nvml.SUCCESS)
			uuid, ret := mig.GetUUID()
			equal(e, "UUID", uuid, ret, "MIG-"+gpu+"/13/0")
			found, ret := e.lib.DeviceGetHandleByUUID(uuid)
			equal(e, "by UUID", found, ret, mig)
		}},
		{name: "ids and UUIDs that promise nothing", gpus: h100, mig: true, ids: sim.IDsRandom, uuids: sim.UUIDsFresh, run: func(e *env) {
			seen := map[string]bool{}
			ids := map[uint32]bool{}
			for range 6 {
				gi := e.instance(e.dev(0), 0, 0)
				info, _ := gi.GetInfo()
				ids[info.Id] = true
				ci := e.compute(gi, 0)
				cinfo, _ := ci.GetInfo()
				uuid, ret := cinfo.Device.GetUUID()
				if ret != nvml.SUCCESS || seen[uuid] {
					e.Errorf("UUID %s (%v) is there again", uuid, ret)
				}
				seen[uuid] = true
				e.do(e.m.DestroyInstances(0))
			}
			if len(ids) < 2 {
				e.Errorf("one placement had the ids %v only", ids)
			}
		}},
		{name: "the positions of ids", gpus: []string{"H100-80", "A30-24", "RTX-PRO-6000"}, mig: true, run: heapIDs},
		{name: "indexes of MIG devices keep their gaps", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			var cis []nvml.ComputeInstance
			for start := range 3 {
				cis = append(cis, e.compute(e.instance(d, 0, start), 0))
			}
			e.is("destroy the middle one", cis[1].Destroy(), nvml.SUCCESS)
			for index, want := range []nvml.Return{nvml.SUCCESS, nvml.ERROR_NOT_FOUND, nvml.SUCCESS, nvml.ERROR_NOT_FOUND} {
				_, ret := d.GetMigDeviceHandleByIndex(index)
				e.is(fmt.Sprintf("index %d", index), ret, want)
			}
			_, ret := d.GetMigDeviceHandleByIndex(7)
			e.is("an index that no MIG device can have", ret, nvml.ERROR_INVALID_ARGUMENT)
		}},
		{name: "a workload keeps its instances", gpus: h100, mig: true, run: keepsItsInstances},
		{name: "a GPU is not a MIG device", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			is, ret := d.IsMigDeviceHandle()
			equal(e, "is one", is, ret, false)
			_, ret = d.GetAttributes()
			e.is("attributes", ret, nvml.ERROR_NOT_SUPPORTED)
			_, ret = d.GetGpuInstanceId()
			e.is("GPU instance id", ret, nvml.ERROR_NOT_SUPPORTED)
			_, ret = d.GetDeviceHandleFromMigDeviceHandle()
			e.is("its GPU", ret, nvml.ERROR_NOT_SUPPORTED)
			_, ret = d.GetGpuInstanceById(0)
			e.is("an instance that is not there", ret, nvml.ERROR_NOT_FOUND)
		}},
		{name: "a lost GPU takes its MIG devices along", gpus: h100, mig: true, run: func(e *env) {
			mig := e.migDevice(e.compute(e.instance(e.dev(0), 0, 0), 0))
			e.do(e.m.LoseGPU(0))
			_, ret := mig.GetUUID()
			e.is("lost", ret, nvml.ERROR_GPU_IS_LOST)
			e.do(e.m.RestoreGPU(0))
			_, ret = mig.GetUUID()
			e.is("restored", ret, nvml.ERROR_INVALID_ARGUMENT)
		}},
		{name: "MIG devices have no events of their own", gpus: h100, mig: true, run: func(e *env) {
			d := e.dev(0)
			mig := e.migDevice(e.compute(e.instance(d, 0, 0), 0))
			set := e.listen(0)
			e.is("register", mig.RegisterEvents(nvml.EventTypeXidCriticalError, set), nvml.ERROR_NOT_SUPPORTED)
			e.do(e.m.XID(0, 94, new(uint32(7)), new(uint32(0))))
			e.next(set, 0, 94, 7, 0)
			e.is("register for changes", d.RegisterEvents(nvml.EventMigConfigChange, set), nvml.SUCCESS)
			e.instance(d, 0, 1)
			ev, ret := set.Wait(soon)
			equal(e, "event of a change (unproven)", ev.EventType, ret, nvml.EventMigConfigChange)
		}},
	}
}

func describesItself(e *env) {
	d := e.dev(0)
	gi := e.instance(d, 2, 4)
	mig := e.migDevice(e.compute(gi, 1))
	is, ret := mig.IsMigDeviceHandle()
	equal(e, "is one", is, ret, true)
	parent, ret := mig.GetDeviceHandleFromMigDeviceHandle()
	equal(e, "its GPU", parent, ret, d)
	id, ret := mig.GetGpuInstanceId()
	equal(e, "GPU instance id", id, ret, 2)
	id, ret = mig.GetComputeInstanceId()
	equal(e, "compute instance id", id, ret, 0)
	index, ret := mig.GetIndex()
	equal(e, "index", index, ret, 0)
	name, ret := mig.GetName()
	equal(e, "name", name, ret, "NVIDIA H100 80GB HBM3 MIG 2c.3g.40gb")
	at, ret := mig.GetAttributes()
	equal(e, "attributes", at, ret, nvml.DeviceAttributes{
		MultiprocessorCount: 32, SharedCopyEngineCount: 3, SharedDecoderCount: 3, SharedJpegCount: 3,
		GpuInstanceSliceCount: 3, ComputeInstanceSliceCount: 2, MemorySizeMB: 40448,
	})
	mem, ret := mig.GetMemoryInfo()
	equal(e, "memory", mem, ret, nvml.Memory{Total: 40448 << 20, Free: 40448 << 20})
	e.is("compute mode of a MIG device", mig.SetComputeMode(nvml.COMPUTEMODE_EXCLUSIVE_PROCESS), nvml.SUCCESS)
	mode, ret := mig.GetComputeMode()
	equal(e, "compute mode", mode, ret, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS)
	uuid, ret := mig.GetUUID()
	e.is("UUID", ret, nvml.SUCCESS)
	if !strings.HasPrefix(uuid, "MIG-") || uuid[len("MIG-xxxxxxxx-xxxx-")] != '5' {
		e.Errorf("UUID %s is not a name-based one of a MIG device", uuid)
	}
	gpu, _ := d.GetUUID()
	for _, form := range []string{uuid, "MIG-" + gpu + "/2/0"} {
		found, ret := e.lib.DeviceGetHandleByUUID(form)
		equal(e, "by "+form, found, ret, mig)
	}
	for _, form := range []string{"MIG-" + gpu + "/2/1", "MIG-" + gpu + "/1/0", "MIG-GPU-0/2/0"} {
		_, ret = e.lib.DeviceGetHandleByUUID(form)
		e.is("by "+form, ret, nvml.ERROR_NOT_FOUND)
	}
}

func madeAgain(e *env) {
	d := e.dev(0)
	make1 := func() (nvml.GpuInstance, nvml.Device, string) {
		gi := e.instance(d, 0, 6)
		mig := e.migDevice(e.compute(gi, 0))
		uuid, ret := mig.GetUUID()
		e.is("UUID", ret, nvml.SUCCESS)
		return gi, mig, uuid
	}
	gi, mig, uuid := make1()
	was, _ := gi.GetInfo()
	e.do(e.m.DestroyInstances(0))
	again, migAgain, uuidAgain := make1()
	is, ret := again.GetInfo()
	equal(e, "id", is.Id, ret, was.Id)
	equal(e, "UUID", uuidAgain, nvml.SUCCESS, uuid)
	_, ret = gi.GetInfo()
	e.is("old handle of the GPU instance", ret, nvml.ERROR_INVALID_ARGUMENT)
	_, ret = mig.GetUUID()
	e.is("old handle of the MIG device", ret, nvml.ERROR_INVALID_ARGUMENT)
	e.is("destroying by the old handle", gi.Destroy(), nvml.ERROR_INVALID_ARGUMENT)
	_, ret = migAgain.GetUUID()
	e.is("new handle", ret, nvml.SUCCESS)
}

// heapIDs are numbers seen on hardware: 1g of an H100 at 6 and 4, 2g at 4, 1g of
// an A30 at 0, 1g of an RTX PRO 6000.
func heapIDs(e *env) {
	for _, c := range []struct{ gpu, profile, start, id int }{
		{0, 0, 6, 13}, {0, 1, 4, 5}, {0, 2, 0, 1}, {1, 0, 0, 3}, {1, 1, 2, 2}, {2, 0, 0, 3}, {2, 0, 3, 4}, {2, 13, 9, 6},
	} {
		info, ret := e.instance(e.dev(c.gpu), c.profile, c.start).GetInfo()
		equal(e, fmt.Sprintf("GPU %d, profile %d at %d", c.gpu, c.profile, c.start), int(info.Id), ret, c.id)
	}
}

func keepsItsInstances(e *env) {
	d := e.dev(0)
	gi := e.instance(d, 0, 0)
	ci := e.compute(gi, 0)
	other := e.migDevice(e.compute(e.instance(d, 0, 1), 0))
	e.do(e.m.AddProcess(sim.Process{PID: 11, GI: new(7), CI: new(0), MemoryMiB: 64, Virtual: true}))
	mig := e.migDevice(ci)
	mem, ret := mig.GetMemoryInfo()
	equal(e, "used", mem.Used, ret, 64<<20)
	for what, c := range map[string]struct {
		on nvml.Device
		n  int
	}{"its MIG device": {mig, 1}, "another": {other, 0}, "its GPU": {d, 1}} {
		list, ret := c.on.GetComputeRunningProcesses()
		equal(e, "processes on "+what, len(list), ret, c.n)
		for _, p := range list {
			equal(e, "instances", [3]uint32{p.Pid, p.GpuInstanceId, p.ComputeInstanceId}, ret, [3]uint32{11, 7, 0})
		}
	}
	e.is("destroy under it", ci.Destroy(), nvml.ERROR_IN_USE)
	e.is("destroy the GPU instance under it", gi.Destroy(), nvml.ERROR_IN_USE)
	if err := e.m.DestroyInstances(0); err == nil {
		e.Error("nvidia-smi destroyed what a process is on")
	}
	e.do(e.m.KillProcess(11))
	e.is("destroy", ci.Destroy(), nvml.SUCCESS)
	e.is("destroy the GPU instance", gi.Destroy(), nvml.SUCCESS)
}

// migDevice is the MIG device that a compute instance is.
func (e *env) migDevice(ci nvml.ComputeInstance) nvml.Device {
	e.Helper()
	info, ret := ci.GetInfo()
	if ret != nvml.SUCCESS {
		e.Fatalf("compute instance: %v", ret)
	}
	return info.Device
}
