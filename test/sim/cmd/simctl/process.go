// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func processCommand(o *opener) *cobra.Command {
	cmd := &cobra.Command{Use: "process", Short: "Put processes on GPUs and end them"}
	cmd.AddCommand(processAddCommand(o), &cobra.Command{
		Use: "kill PID", Short: "End a process as far as the driver is concerned; sends no signal", Args: cobra.ExactArgs(1),
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
			pid, err := index(args[0])
			if err != nil {
				return err
			}
			return m.KillProcess(pid)
		}),
	})
	return cmd
}

func processAddCommand(o *opener) *cobra.Command {
	var p sim.Process
	var kind string
	var gi, ci int
	cmd := &cobra.Command{
		Use: "add", Short: "Put a process on a GPU", Args: cobra.NoArgs,
		RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, _ []string) error {
			p.Kind = sim.ProcessKind(kind)
			p.GI, p.CI = given(cmd, "gi", &gi), given(cmd, "ci", &ci)
			return m.AddProcess(p)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&p.PID, "pid", 0, "process id")
	f.IntVar(&p.GPU, "gpu", 0, "index of the GPU")
	f.IntVar(&gi, "gi", 0, "GPU instance it runs on, when MIG is on")
	f.IntVar(&ci, "ci", 0, "compute instance it runs on, when MIG is on")
	f.StringVar(&kind, "kind", "C", "C (compute), G (graphics) or M (client of an MPS server)")
	f.Uint64Var(&p.MemoryMiB, "memory", 0, "memory it holds, in MiB")
	f.StringVar(&p.Name, "name", "", "name to show")
	f.BoolVar(&p.Virtual, "virtual", false, "no real process stands behind it; it ends by process kill")
	return cmd
}
