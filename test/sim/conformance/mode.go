// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import "github.com/NVIDIA/go-nvml/pkg/nvml"

func modes() []behaviour {
	return []behaviour{
		{name: "compute mode is kept until a reboot", gpus: []string{"A30-24", "A30-24"}, run: func(e *env) {
			d := e.dev(0)
			mode, ret := d.GetComputeMode()
			equal(e, "at first", mode, ret, nvml.COMPUTEMODE_DEFAULT)
			for _, want := range []nvml.ComputeMode{nvml.COMPUTEMODE_EXCLUSIVE_PROCESS, nvml.COMPUTEMODE_PROHIBITED, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS} {
				e.is("set", d.SetComputeMode(want), nvml.SUCCESS)
				mode, ret = d.GetComputeMode()
				equal(e, "mode", mode, ret, want)
			}
			e.is("the mode that is gone", d.SetComputeMode(1), nvml.ERROR_INVALID_ARGUMENT)
			mode, ret = e.dev(1).GetComputeMode()
			equal(e, "of the other GPU", mode, ret, nvml.COMPUTEMODE_DEFAULT)
			e.do(e.m.Reboot())
			e.is("Init", e.lib.Init(), nvml.SUCCESS)
			mode, ret = e.dev(0).GetComputeMode()
			equal(e, "after a reboot", mode, ret, nvml.COMPUTEMODE_DEFAULT)
		}},
		{name: "persistence mode", gpus: []string{"A30-24"}, run: func(e *env) {
			d := e.dev(0)
			mode, ret := d.GetPersistenceMode()
			equal(e, "at first", mode, ret, nvml.FEATURE_DISABLED)
			e.is("set", d.SetPersistenceMode(nvml.FEATURE_ENABLED), nvml.SUCCESS)
			mode, ret = d.GetPersistenceMode()
			equal(e, "after", mode, ret, nvml.FEATURE_ENABLED)
		}},
	}
}
