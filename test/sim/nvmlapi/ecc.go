// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// GetEccMode is (current, pending). The simulated memory has no errors; its
// counters exist because tools read them before they trust a GPU.
func (d *device) GetEccMode() (nvml.EnableState, nvml.EnableState, nvml.Return) {
	on, ret := get(d, "nvmlDeviceGetEccMode", func(_ *sim.State, _ *sim.GPU, p sim.Product) (nvml.EnableState, nvml.Return) {
		return nvml.FEATURE_ENABLED, supported(p.ECC)
	})
	return on, on, ret
}

func (d *device) GetTotalEccErrors(nvml.MemoryErrorType, nvml.EccCounterType) (uint64, nvml.Return) {
	return d.eccCount("nvmlDeviceGetTotalEccErrors")
}

func (d *device) GetMemoryErrorCounter(nvml.MemoryErrorType, nvml.EccCounterType, nvml.MemoryLocation) (uint64, nvml.Return) {
	return d.eccCount("nvmlDeviceGetMemoryErrorCounter")
}

func (d *device) eccCount(name string) (uint64, nvml.Return) {
	return get(d, name, func(_ *sim.State, _ *sim.GPU, p sim.Product) (uint64, nvml.Return) {
		return 0, supported(p.ECC)
	})
}

// GetRemappedRows is (correctable, uncorrectable, pending, failure). It is not
// supported while MIG is on.
func (d *device) GetRemappedRows() (int, int, bool, bool, nvml.Return) {
	_, ret := get(d, "nvmlDeviceGetRemappedRows", func(_ *sim.State, g *sim.GPU, p sim.Product) (int, nvml.Return) {
		return 0, supported(p.RowRemap && !g.MIG.Current)
	})
	return 0, 0, false, false, ret
}

func supported(yes bool) nvml.Return {
	if yes {
		return nvml.SUCCESS
	}
	return nvml.ERROR_NOT_SUPPORTED
}
