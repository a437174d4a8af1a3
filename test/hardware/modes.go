// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// modes asks for what can be set. A mode that somebody chose is no difference.
func (g *gpu) modes() {
	g.product.MIG = g.call("MIG mode", "nvmlDeviceGetMigMode", func() (any, nvml.Return) {
		current, pending, ret := g.dev.GetMigMode()
		g.on = ret == nvml.SUCCESS && current == nvml.DEVICE_MIG_ENABLE
		if ret == nvml.SUCCESS && current != pending {
			g.leave("MIG mode changes from %d to %d at the next reset; the simulator is compared in the present one", current, pending)
		}
		return current, ret
	})
	g.call("compute mode", "nvmlDeviceGetComputeMode", func() (any, nvml.Return) {
		v, ret := g.dev.GetComputeMode()
		switch v {
		case nvml.COMPUTEMODE_DEFAULT, nvml.COMPUTEMODE_PROHIBITED, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS:
			return "a known mode", ret
		}
		return fmt.Sprintf("mode %d", v), ret
	})
	for _, c := range cgroups() {
		g.call("memory limits of "+c.what, "nvmlDeviceGetMemoryLimits_v1", func() (any, nvml.Return) {
			_, ret := g.dev.GetMemoryLimits_v1(c.path)
			return succeeded, ret
		})
	}
	g.call("persistence mode", "nvmlDeviceGetPersistenceMode", value(g.dev.GetPersistenceMode))
	g.call("virtualization mode", "nvmlDeviceGetVirtualizationMode", value(g.dev.GetVirtualizationMode))
	g.call("event types", "nvmlDeviceGetSupportedEventTypes", func() (any, nvml.Return) {
		v, ret := g.dev.GetSupportedEventTypes()
		return fmt.Sprintf("%#x of those used", v&usedEvents), ret
	})
}

// usedEvents are those whose loss the product would feel.
const usedEvents = nvml.EventTypeXidCriticalError | nvml.EventTypeSingleBitEccError | nvml.EventTypeDoubleBitEccError | nvml.EventMigConfigChange

// errors asks for what is counted of broken memory.
func (g *gpu) errors() {
	g.product.ECC = g.call("ECC errors", "nvmlDeviceGetTotalEccErrors", value(func() (uint64, nvml.Return) {
		return g.dev.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC)
	}))
	g.product.RowRemap = g.call("remapped rows", "nvmlDeviceGetRemappedRows", func() (any, nvml.Return) {
		_, _, _, _, ret := g.dev.GetRemappedRows()
		return succeeded, ret
	})
}

// processes asks for who uses the GPU.
func (g *gpu) processes() {
	for _, list := range []struct {
		what, symbol string
		ask          func() ([]nvml.ProcessInfo, nvml.Return)
	}{
		{"compute processes", "nvmlDeviceGetComputeRunningProcesses_v3", g.dev.GetComputeRunningProcesses},
		{"graphics processes", "nvmlDeviceGetGraphicsRunningProcesses_v3", g.dev.GetGraphicsRunningProcesses},
		{"MPS processes", "nvmlDeviceGetMPSComputeRunningProcesses_v3", g.dev.GetMPSComputeRunningProcesses},
	} {
		g.call(list.what, list.symbol, value(list.ask))
	}
}
