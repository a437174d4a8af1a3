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

// operateCommands are those that concern the whole machine.
func operateCommands(o *opener) []*cobra.Command {
	return []*cobra.Command{
		{
			Use: "reboot", Short: "Reboot the machine: another boot id, another driver load", Args: cobra.NoArgs,
			RunE: o.on(func(_ *cobra.Command, m *sim.Machine, _ []string) error { return m.Reboot() }),
		},
		{
			Use: "reload-driver", Short: "Unload and load the driver; fails while a process is on a GPU", Args: cobra.NoArgs,
			RunE: o.on(func(_ *cobra.Command, m *sim.Machine, _ []string) error { return m.ReloadDriver() }),
		},
		reorderCommand(o),
	}
}

func reorderCommand(o *opener) *cobra.Command {
	var minors bool
	cmd := &cobra.Command{
		Use: "reorder INDEX,INDEX,…", Short: "Give the GPUs other indexes: the first named becomes GPU 0", Args: cobra.ExactArgs(1),
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
			var order []int
			for part := range strings.SplitSeq(args[0], ",") {
				i, err := index(part)
				if err != nil {
					return err
				}
				order = append(order, i)
			}
			return m.Reorder(order, minors)
		}),
	}
	cmd.Flags().BoolVar(&minors, "renumber-minors", false, "give each GPU the minor of its new index")
	return cmd
}

// gpuCommands are those that concern one GPU, named by its index.
func gpuCommands(o *opener) []*cobra.Command {
	return []*cobra.Command{
		oneGPU(o, "lose", "Make a GPU fall off the bus (XID 79)", (*sim.Machine).LoseGPU),
		oneGPU(o, "restore", "Bring a lost GPU back", (*sim.Machine).RestoreGPU),
		oneGPU(o, "remove", "Take a GPU out of the machine", (*sim.Machine).RemoveGPU),
		oneGPU(o, "reset", "Reset a GPU: a pending MIG mode becomes the mode, instances go; fails while it is in use", (*sim.Machine).ResetGPU),
		{
			Use: "add " + gpuUsage, Short: "Put another GPU in; prints its index", Args: cobra.ExactArgs(1),
			RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, args []string) error {
				g, err := parseGPU(args[0])
				if err != nil {
					return err
				}
				i, err := m.AddGPU(g)
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), i)
				}
				return err
			}),
		},
		xidCommand(o),
	}
}

func oneGPU(o *opener, name, short string, f func(*sim.Machine, int) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " GPU", Short: short, Args: cobra.ExactArgs(1),
		RunE: o.on(func(_ *cobra.Command, m *sim.Machine, args []string) error {
			i, err := index(args[0])
			if err != nil {
				return err
			}
			return f(m, i)
		}),
	}
}

func xidCommand(o *opener) *cobra.Command {
	var gi, ci uint32
	cmd := &cobra.Command{
		Use: "xid GPU NUMBER", Short: "Report an XID error of a GPU", Args: cobra.ExactArgs(2),
		RunE: o.on(func(cmd *cobra.Command, m *sim.Machine, args []string) error {
			i, err := index(args[0])
			if err != nil {
				return err
			}
			xid, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return fmt.Errorf("XID %q is not a number: %w", args[1], err)
			}
			return m.XID(i, xid, given(cmd, "gi", &gi), given(cmd, "ci", &ci))
		}),
	}
	cmd.Flags().Uint32Var(&gi, "gi", 0, "GPU instance it concerns; the whole GPU when not given")
	cmd.Flags().Uint32Var(&ci, "ci", 0, "compute instance it concerns")
	return cmd
}

// given is v when the flag was set, and nil otherwise.
func given[T any](cmd *cobra.Command, flag string, v *T) *T {
	if cmd.Flags().Changed(flag) {
		return v
	}
	return nil
}

func index(text string) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("GPU index %q is not a number: simctl show lists the GPUs: %w", text, err)
	}
	return i, nil
}
