// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command simctl makes a simulated machine and operates it from outside: what
// a person, a script or an end-to-end test does to a node, as opposed to what
// the node plugin does through the driver library.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/sim"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "simctl:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "simctl",
		Short:         "Make and operate a simulated machine with NVIDIA GPUs",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	state := os.Getenv("COTENANT_SIM_STATE")
	if state == "" {
		state = "/run/cotenant-sim"
	}
	o := &opener{}
	root.PersistentFlags().StringVar(&o.dir, "state", state, "directory of the machine (COTENANT_SIM_STATE)")
	root.AddCommand(createCommand())
	root.AddCommand(operateCommands(o)...)
	root.AddCommand(gpuCommands(o)...)
	root.AddCommand(sharingCommands(o)...)
	root.AddCommand(migCommand(o), instanceCommand(o), processCommand(o), faultCommand(o), callsCommand(o), showCommand(o), checkCommand(o))
	return root
}

// opener opens the machine the --state flag names.
type opener struct{ dir string }

// on makes a command's action of what it does to the machine.
func (o *opener) on(f func(*cobra.Command, *sim.Machine, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		m, err := sim.Open(o.dir)
		if err != nil {
			return err
		}
		return f(cmd, m, args)
	}
}
