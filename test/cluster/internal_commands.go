// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/cluster/machine"
	"github.com/cotenant-dev/cotenant/test/cluster/run"
)

// internalCommand holds the processes that `up` starts of this program itself.
func (a *app) internalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "internal", Short: "What `up` starts; not for people", Hidden: true}
	gateway := &cobra.Command{
		Use:  "gateway",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run.Gateway(cmd.Context()) },
	}
	var root machine.NodeRoot
	var address string
	node := &cobra.Command{
		Use:  "node",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run.NodeRoot(cmd.Context(), root, address)
		},
	}
	node.Flags().StringVar(&root.Disk, "disk", "", "directory of the node's disk")
	node.Flags().StringVar(&root.Sim, "sim", "", "state directory of the node's simulated GPU machine")
	node.Flags().StringVar(&address, "address", "", "the node's address")
	var cgroup string
	join := &cobra.Command{
		Use:  "join -- COMMAND [ARGUMENT]...",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return run.Join(cgroup, args) },
	}
	join.Flags().StringVar(&cgroup, "cgroup", "", "control group to join")
	cmd.AddCommand(gateway, node, join)
	return cmd
}
