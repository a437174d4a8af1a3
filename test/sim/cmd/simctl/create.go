// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

const gpuUsage = "PRODUCT[,uuid=GPU-…][,pci=0000:65:01.0][,minor=N][,numa=N][,pcieRoot=pci0000:64][,moduleID=N][,mig=on]"

func createCommand() *cobra.Command {
	var cfg sim.Config
	var gpus []string
	cmd := &cobra.Command{
		Use:   "create DIR",
		Short: "Make a machine in an empty directory",
		Long:  "Make a machine in an empty directory. Products: " + strings.Join(sim.Products(), ", ") + ".",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, text := range gpus {
				g, err := parseGPU(text)
				if err != nil {
					return err
				}
				cfg.GPUs = append(cfg.GPUs, g)
			}
			m, err := sim.Create(args[0], cfg)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), m.Root())
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&gpus, "gpu", nil, "a GPU, once for each: "+gpuUsage)
	f.StringVar(&cfg.Driver, "driver", "", "driver version (535.129.03)")
	f.StringVar(&cfg.CUDA, "cuda", "", "CUDA version of the driver (12.2)")
	f.Int64Var(&cfg.Seed, "seed", 0, "what tells this machine's UUIDs from another's")
	f.StringVar(&cfg.IDs, "ids", "", "random: ids of MIG instances that follow from nothing; by placement when left out")
	f.StringVar(&cfg.UUIDs, "uuids", "", "fresh: a MIG UUID is never used again; used again when left out")
	f.BoolVar(&cfg.ResetForbidden, "reset-forbidden", false, "no GPU can be reset, as in a VM")
	f.DurationVar(&cfg.Linger, "linger", 0, "how long what a workload was on stays in use after its end")
	f.BoolVar(&cfg.VolatileTimeSlice, "volatile-time-slice", false, "a time-slice is lost when the last process leaves a GPU without persistence mode")
	f.BoolVar(&cfg.MPSIgnoresUUIDs, "mps-ignores-uuids", false, "a memory limit that MPS is given by a device's UUID has no effect")
	f.StringVar(&cfg.Bin, "bin", "", "directory with libnvidia-ml.so.1 and the programs for the driver root: nvidia-smi, nvidia-cuda-mps-control, nvidia-cuda-mps-server, simcuda")
	return cmd
}

// parseGPU reads a --gpu value.
func parseGPU(text string) (sim.GPUConfig, error) {
	parts := strings.Split(text, ",")
	g := sim.GPUConfig{Product: parts[0]}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		if err := setGPU(&g, key, value); err != nil {
			return g, fmt.Errorf("GPU %q: %w: want %s", text, err, gpuUsage)
		}
	}
	return g, nil
}

func setGPU(g *sim.GPUConfig, key, value string) error {
	switch key {
	case "uuid":
		g.UUID = value
	case "pci":
		g.PCI = value
	case "pcieRoot":
		g.PCIeRoot = value
	case "mig":
		on, err := onOff(value)
		if err != nil {
			return err
		}
		g.MIG = on
	case "minor", "numa", "moduleID":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		switch key {
		case "minor":
			g.Minor = &n
		case "numa":
			g.NUMA = &n
		default:
			g.ModuleID = n
		}
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}
