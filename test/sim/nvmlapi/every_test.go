// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// TestEveryMethodAnswers calls every method of every interface that the
// machine hands out, and expects a return code of each: no method is left nil,
// none ends the process. Handlers without a code are go-nvml's own.
func TestEveryMethodAnswers(t *testing.T) {
	m := create(t, sim.Config{Driver: "615.10", GPUs: []sim.GPUConfig{{Product: "A30-24", MIG: true}}})
	lib := open(t, m)
	dev, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	set, ret := lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	gi, ci, mig := partition(t, m, dev)
	given := []any{dev, set, gi, ci}
	called := 0
	for _, object := range []reflect.Value{
		reflect.ValueOf(&lib).Elem(), reflect.ValueOf(&dev).Elem(), reflect.ValueOf(&set).Elem(),
		reflect.ValueOf(&gi).Elem(), reflect.ValueOf(&ci).Elem(), reflect.ValueOf(&mig).Elem(),
	} {
		for i := range object.NumMethod() {
			name := object.Type().Method(i).Name
			if name == "Shutdown" || name == "Free" || name == "EventSetFree" || strings.HasSuffix(name, "Destroy") {
				continue // they end what the others need
			}
			if called += 1; !callOne(t, object.Method(i), given) {
				t.Errorf("%s.%s answers no return code", object.Type(), name)
			}
		}
	}
	if want := 407 + 2*280 + 8 + 21 + 2 - 7; called < want {
		t.Errorf("%d methods were called, want the %d that go-nvml 0.13.4 has for these objects and that end nothing", called, want)
	}
}

// partition makes an instance of the smallest profile and its MIG device.
func partition(t *testing.T, m *sim.Machine, dev nvml.Device) (nvml.GpuInstance, nvml.ComputeInstance, nvml.Device) {
	t.Helper()
	if err := m.CreateInstance(0, 14, 0, true); err != nil {
		t.Fatal(err)
	}
	gi, ret := dev.GetGpuInstanceById(3)
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	ci, ret := gi.GetComputeInstanceById(0)
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	info, ret := ci.GetInfo()
	if ret != nvml.SUCCESS {
		t.Fatal(ret)
	}
	return gi, ci, info.Device
}

// callOne calls a method with the given objects, and zero values for the rest.
func callOne(t *testing.T, method reflect.Value, given []any) bool {
	t.Helper()
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		in := method.Type().In(i)
		if method.Type().IsVariadic() && i == method.Type().NumIn()-1 {
			break
		}
		arg := reflect.Zero(in)
		for _, g := range given {
			if in.Kind() == reflect.Interface && reflect.TypeOf(g).Implements(in) {
				arg = reflect.ValueOf(g)
			}
		}
		if in.Kind() == reflect.Interface && arg.IsZero() {
			return true // an object that this machine gives nobody
		}
		args = append(args, arg)
	}
	out := method.Call(args)
	switch last := out[len(out)-1].Type(); {
	case last == reflect.TypeFor[nvml.Return]():
		return true
	case last == reflect.TypeFor[string](), last == reflect.TypeFor[nvml.ExtendedInterface]():
		return true // ErrorString and Extensions
	default:
		return strings.HasPrefix(last.Name(), "Gpm") || strings.HasSuffix(last.Name(), "Handler")
	}
}
