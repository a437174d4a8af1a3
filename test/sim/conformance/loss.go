// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func losses() []behaviour {
	two := []string{"A30-24", "A30-24"}
	return []behaviour{
		{name: "a lost GPU is counted and does not answer", gpus: two, run: func(e *env) {
			d, other := e.dev(0), e.dev(1)
			e.do(e.m.LoseGPU(0))
			n, ret := e.lib.DeviceGetCount()
			equal(e, "count", n, ret, 2)
			_, ret = e.lib.DeviceGetHandleByIndex(0)
			e.is("new handle", ret, nvml.ERROR_GPU_IS_LOST)
			_, ret = d.GetUUID()
			e.is("old handle", ret, nvml.ERROR_GPU_IS_LOST)
			e.is("change", d.SetComputeMode(nvml.COMPUTEMODE_PROHIBITED), nvml.ERROR_GPU_IS_LOST)
			_, ret = other.GetUUID()
			e.is("the other GPU", ret, nvml.SUCCESS)
			e.do(e.m.RestoreGPU(0))
			_, ret = d.GetUUID()
			e.is("restored", ret, nvml.SUCCESS)
		}},
		{name: "a loss is XID 79, then GPU_IS_LOST (unproven: at each wait)", gpus: two, run: func(e *env) {
			set := e.listen(0)
			e.do(e.m.LoseGPU(0))
			e.next(set, 0, 79, wholeGPU, wholeGPU)
			for range 2 {
				_, ret := set.Wait(soon)
				e.is("Wait", ret, nvml.ERROR_GPU_IS_LOST)
			}
		}},
		{name: "a removed GPU is not counted, without any event", gpus: two, run: func(e *env) {
			set := e.listen(1)
			d := e.dev(1)
			e.do(e.m.RemoveGPU(1))
			n, ret := e.lib.DeviceGetCount()
			equal(e, "count", n, ret, 1)
			_, ret = d.GetUUID()
			e.is("its handle", ret, nvml.ERROR_INVALID_ARGUMENT)
			e.quiet(set)
		}},
		{name: "a GPU comes back as itself", gpus: two, run: func(e *env) {
			s, err := e.m.State()
			e.do(err)
			was := s.GPUs[0]
			d := e.dev(0)
			e.do(e.m.RemoveGPU(0))
			i, err := e.m.AddGPU(sim.GPUConfig{Product: was.Product, UUID: was.UUID, PCI: was.PCI})
			e.do(err)
			index, ret := d.GetIndex()
			equal(e, "index through the old handle", index, ret, i)
			minor, ret := d.GetMinorNumber()
			equal(e, "minor", minor, ret, 0)
		}},
		{name: "GPUs lost at a reboot are back after it", gpus: two, run: func(e *env) {
			e.do(e.m.LoseGPU(1))
			e.do(e.m.Reboot())
			e.is("Init", e.lib.Init(), nvml.SUCCESS)
			_, ret := e.dev(1).GetUUID()
			e.is("UUID", ret, nvml.SUCCESS)
		}},
	}
}
