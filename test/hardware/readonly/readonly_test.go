// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package readonly_test

import (
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// asking are the names that NVML's functions have which change nothing.
var asking = regexp.MustCompile(`^(Init|Shutdown|LookupSymbol|(System|Device)?(Get|Is)[A-Z].*)$`)

// whole are go-nvml's own types, with every setter.
var whole = []reflect.Type{
	reflect.TypeFor[nvml.Interface](), reflect.TypeFor[nvml.ExtendedInterface](), reflect.TypeFor[nvml.Device](),
	reflect.TypeFor[nvml.GpuInstance](), reflect.TypeFor[nvml.ComputeInstance](), reflect.TypeFor[nvml.EventSet](),
}

func TestNothingCanBeReachedThatChangesAGPU(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type, string)
	look = func(typ reflect.Type, path string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		for _, w := range whole {
			if typ == w {
				t.Errorf("%s is %s", path, typ)
				return
			}
		}
		ours := typ.PkgPath() == reflect.TypeFor[readonly.Library]().PkgPath()
		for m := range typ.Methods() {
			if ours && !asking.MatchString(m.Name) {
				t.Errorf("%s.%s is no getter", path, m.Name)
			}
			for i := range m.Type.NumOut() {
				look(m.Type.Out(i), path+"."+m.Name)
			}
		}
		switch typ.Kind() {
		case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
			look(typ.Elem(), path)
		case reflect.Struct:
			for f := range typ.Fields() {
				if f.IsExported() {
					look(f.Type, path+"."+f.Name)
				}
			}
		}
	}
	look(reflect.TypeFor[readonly.Library](), "Library")
	if !seen[reflect.TypeFor[readonly.Device]()] || !seen[reflect.TypeFor[readonly.Compute]()] {
		t.Errorf("only %v were looked at", seen)
	}
}

func TestHandlesOfPartitions(t *testing.T) {
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CreateInstance(0, 9, 4, true); err != nil {
		t.Fatal(err)
	}
	lib := readonly.New(nvmlapi.New(m, nvmlapi.AsUser(0)))
	ok := func(what string, ret nvml.Return) {
		t.Helper()
		if ret != nvml.SUCCESS {
			t.Fatalf("%s: %v", what, ret)
		}
	}
	ok("Init", lib.Init())
	gpu, ret := lib.DeviceGetHandleByIndex(0)
	ok("handle", ret)
	info, ret := gpu.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	ok("profile", ret)
	gis, ret := gpu.GetGpuInstances(&info)
	ok("instances", ret)
	if len(gis) != 1 {
		t.Fatalf("%d instances", len(gis))
	}
	at, ret := gis[0].GetInfo()
	ok("instance", ret)
	if want := (readonly.InstanceInfo{ID: 2, Profile: 9, Start: 4, Size: 4}); at != want {
		t.Errorf("instance %+v, want %+v", at, want)
	}
	c, ret := gis[0].GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE)
	ok("compute profile", ret)
	cis, ret := gis[0].GetComputeInstances(&c)
	ok("compute instances", ret)
	if len(cis) != 1 {
		t.Fatalf("%d compute instances", len(cis))
	}
	_, dev, ret := cis[0].GetInfo()
	ok("compute instance", ret)
	first, ret := gpu.GetMigDeviceHandleByIndex(0)
	ok("MIG device", ret)
	if dev != first {
		t.Errorf("the compute instance is %+v, the MIG device %+v", dev, first)
	}
	if parent, ret := dev.GetDeviceHandleFromMigDeviceHandle(); ret != nvml.SUCCESS || parent != gpu {
		t.Errorf("the MIG device is of %+v (%v), not %+v", parent, ret, gpu)
	}
	if none, ret := gpu.GetMigDeviceHandleByIndex(1); ret != nvml.ERROR_NOT_FOUND || none != (readonly.Device{}) {
		t.Errorf("a MIG device that is not there is %+v (%v)", none, ret)
	}
}
