// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// notAvailable stands where the GPU does not support what was asked.
const notAvailable = "[N/A]"

// field is something --query-gpu can ask for.
type field struct {
	unit string
	read func(sim.State, gpu) string
}

// knownFields are keyed by the names of nvidia-smi --help-query-gpu.
func knownFields() map[string]field {
	text := func(f func(gpu) string) field { return field{read: func(_ sim.State, g gpu) string { return f(g) }} }
	mem := func(f func(total, reserved, used uint64) uint64) field { return field{"MiB", memory(f)} }
	fields := map[string]field{
		"index":            text(func(g gpu) string { return strconv.Itoa(g.index) }),
		"uuid":             text(func(g gpu) string { return g.UUID }),
		"name":             text(func(g gpu) string { return g.product.Name }),
		"pci.bus_id":       text(gpu.busID),
		"pci.device_id":    text(func(g gpu) string { return fmt.Sprintf("0x%04X10DE", g.product.PCIDeviceID) }),
		"compute_cap":      text(func(g gpu) string { return fmt.Sprintf("%d.%d", g.product.ComputeMajor, g.product.ComputeMinor) }),
		"compute_mode":     text(func(g gpu) string { return computeMode(g.ComputeMode) }),
		"persistence_mode": text(func(g gpu) string { return enabled(g.Persistence) }),
		"mig.mode.current": text(func(g gpu) string { return migMode(g.product, g.MIG.Current) }),
		"mig.mode.pending": text(func(g gpu) string { return migMode(g.product, g.MIG.Pending) }),
		"driver_version":   {read: func(s sim.State, _ gpu) string { return s.Driver }},
		"memory.total":     mem(func(total, _, _ uint64) uint64 { return total }),
		"memory.reserved":  mem(func(_, reserved, _ uint64) uint64 { return reserved }),
		"memory.used":      mem(func(_, _, used uint64) uint64 { return used }),
		"memory.free":      mem(func(total, reserved, used uint64) uint64 { return total - reserved - used }),
	}
	for alias, name := range map[string]string{"gpu_uuid": "uuid", "gpu_name": "name", "gpu_bus_id": "pci.bus_id"} {
		fields[alias] = fields[name]
	}
	return fields
}

// query prints --query-gpu.
func query(s sim.State, gpus []gpu, a args, out io.Writer) error {
	known := knownFields()
	var fields []field
	var heads []string
	for _, name := range a.fields {
		name = strings.TrimSpace(name)
		f, ok := known[name]
		if !ok {
			return invalid("Field \"%s\" is not a valid field to query.\n", name)
		}
		fields = append(fields, f)
		if f.unit != "" {
			name += " [" + f.unit + "]"
		}
		heads = append(heads, name)
	}
	if a.header {
		fmt.Fprintln(out, strings.Join(heads, ", "))
	}
	for _, g := range gpus {
		if g.Lost {
			return g.lost()
		}
		var row []string
		for _, f := range fields {
			row = append(row, f.show(s, g, a.units))
		}
		fmt.Fprintln(out, strings.Join(row, ", "))
	}
	return nil
}

func (f field) show(s sim.State, g gpu, units bool) string {
	v := f.read(s, g)
	if units && f.unit != "" && v != notAvailable {
		v += " " + f.unit
	}
	return v
}

func memory(f func(total, reserved, used uint64) uint64) func(sim.State, gpu) string {
	return func(s sim.State, g gpu) string {
		if !g.product.MemoryQuery {
			return notAvailable
		}
		return strconv.FormatUint(f(g.product.MemoryMiB, g.product.ReservedMiB, s.UsedMiB(g.UUID)), 10)
	}
}

func computeMode(mode int) string {
	switch mode {
	case sim.ComputeProhibited:
		return "Prohibited"
	case sim.ComputeExclusiveProcess:
		return "Exclusive_Process"
	}
	return "Default"
}

func migMode(p sim.Product, on bool) string {
	if !p.MIG {
		return notAvailable
	}
	return enabled(on)
}

func enabled(on bool) string {
	if on {
		return "Enabled"
	}
	return "Disabled"
}
