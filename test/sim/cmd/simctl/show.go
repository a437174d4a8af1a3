// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func showCommand(o *opener) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show the machine", Args: cobra.NoArgs,
		RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, _ []string) error {
			s, err := m.State()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, s)
			}
			return show(cmd, m, s)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole state as JSON")
	return cmd
}

func show(cmd *cobra.Command, m *sim.Machine, s sim.State) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "driver\t%s (CUDA %s), load %d\nboot\t%s\nroot\t%s\n\n", s.Driver, s.CUDA, s.Load, s.BootID, m.Root())
	fmt.Fprintln(w, "GPU\tPRODUCT\tUUID\tPCI\tMINOR\tNUMA\tSTATE")
	for i, g := range s.GPUs {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%d\t%s\n", i, g.Product, g.UUID, g.PCI, g.Minor, g.NUMA, condition(g))
	}
	showInstances(w, s)
	showSharing(w, s)
	if len(s.Processes) > 0 {
		fmt.Fprintln(w, "\nPID\tGPU\tGI\tCI\tKIND\tMIB\tNAME")
	}
	for _, p := range s.Processes {
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%d\t%s\n", p.PID, s.Index(p.UUID), orNone(p.GI), orNone(p.CI), p.Kind, p.MemoryMiB, p.Name)
	}
	return w.Flush()
}

func checkCommand(o *opener) *cobra.Command {
	var tidy bool
	cmd := &cobra.Command{
		Use: "check", Short: "Prove the machine's invariants and that its driver root is right", Args: cobra.NoArgs,
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, _ []string) error {
			if err := m.Check(); err != nil || !tidy {
				return err
			}
			return m.Leftovers()
		}),
	}
	cmd.Flags().BoolVar(&tidy, "tidy", false, "also that nothing is left of sharing: compute modes, time-slices, memory limits, MPS without clients")
	return cmd
}
