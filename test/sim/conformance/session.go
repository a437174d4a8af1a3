// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func sessions() []behaviour {
	return []behaviour{
		{name: "nothing works before Init", gpus: []string{"A30-24"}, raw: true, run: func(e *env) {
			_, ret := e.lib.DeviceGetCount()
			e.is("count", ret, nvml.ERROR_UNINITIALIZED)
			_, ret = e.lib.SystemGetDriverVersion()
			e.is("driver version", ret, nvml.ERROR_UNINITIALIZED)
			_, ret = e.lib.EventSetCreate()
			e.is("event set", ret, nvml.ERROR_UNINITIALIZED)
			e.is("Shutdown", e.lib.Shutdown(), nvml.ERROR_UNINITIALIZED)
		}},
		{name: "Init is counted", gpus: []string{"A30-24"}, raw: true, run: func(e *env) {
			e.is("first Init", e.lib.Init(), nvml.SUCCESS)
			e.is("InitWithFlags", e.lib.InitWithFlags(nvml.INIT_FLAG_NO_GPUS), nvml.SUCCESS)
			d := e.dev(0)
			e.is("first Shutdown", e.lib.Shutdown(), nvml.SUCCESS)
			_, ret := d.GetUUID()
			e.is("call while one Init is left", ret, nvml.SUCCESS)
			e.is("last Shutdown", e.lib.Shutdown(), nvml.SUCCESS)
			_, ret = d.GetUUID()
			e.is("call after the last Shutdown", ret, nvml.ERROR_UNINITIALIZED)
		}},
		{name: "versions", driver: "535.129.03", run: func(e *env) {
			v, ret := e.lib.SystemGetDriverVersion()
			equal(e, "driver", v, ret, "535.129.03")
			v, ret = e.lib.SystemGetNVMLVersion()
			equal(e, "NVML", v, ret, "13.535.129.03")
			n, ret := e.lib.SystemGetCudaDriverVersion()
			equal(e, "CUDA", n, ret, 13040)
			n, ret = e.lib.SystemGetCudaDriverVersion_v2()
			equal(e, "CUDA, second version", n, ret, 13040)
		}},
		{name: "functions are looked up", run: func(e *env) {
			for _, name := range []string{"nvmlInit_v2", "nvmlDeviceGetMigMode", "nvmlDeviceGetAddressingMode"} {
				e.do(e.lib.Extensions().LookupSymbol(name))
			}
			if err := e.lib.Extensions().LookupSymbol("nvmlDeviceMakeCoffee"); err == nil {
				e.Error("a function that no library has was found")
			}
		}},
		{name: "error strings are words", run: func(e *env) {
			for ret, want := range map[nvml.Return]string{
				nvml.SUCCESS: "Success", nvml.ERROR_GPU_IS_LOST: "GPU is lost", nvml.ERROR_NOT_SUPPORTED: "Not Supported",
			} {
				if got := e.lib.ErrorString(ret); !strings.EqualFold(got, want) {
					e.Errorf("code %d: %q, want %q", ret, got, want)
				}
			}
		}},
		{name: "a driver reload ends the session until Init", gpus: []string{"A30-24"}, run: func(e *env) {
			d := e.dev(0)
			e.is("compute mode", d.SetComputeMode(nvml.COMPUTEMODE_EXCLUSIVE_PROCESS), nvml.SUCCESS)
			e.do(e.m.ReloadDriver())
			_, ret := d.GetUUID()
			e.is("old session", ret, nvml.ERROR_UNINITIALIZED)
			e.is("Init", e.lib.Init(), nvml.SUCCESS)
			mode, ret := e.dev(0).GetComputeMode()
			equal(e, "compute mode after the reload", mode, ret, nvml.COMPUTEMODE_DEFAULT)
		}},
		{name: "calls nobody implements say so", gpus: []string{"A30-24"}, run: func(e *env) {
			d := e.dev(0)
			_, ret := d.GetFanSpeed()
			e.is("fan speed", ret, nvml.ERROR_NOT_SUPPORTED)
			_, ret = e.lib.UnitGetCount()
			e.is("units", ret, nvml.ERROR_NOT_SUPPORTED)
			e.do(e.m.LoseGPU(0))
			_, ret = d.GetFanSpeed()
			e.is("fan speed of a lost GPU", ret, nvml.ERROR_GPU_IS_LOST)
		}},
	}
}
