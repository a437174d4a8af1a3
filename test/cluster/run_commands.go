// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/run"
)

// timeoutFlag gives a command the time after which waiting ends.
func timeoutFlag(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", 3*time.Minute, "how long to wait until everything is ready")
}

func (a *app) upCommand() *cobra.Command {
	var o run.Options
	var nodes []string
	var timeout time.Duration
	cmd := a.nameFlag(&cobra.Command{
		Use:   "up",
		Short: "Start a cluster, or add nodes to one that runs",
		Example: `  cluster up --name demo --node 192.168.2.8,sim=/tmp/gpus,label=nvidia.com/gpu.present=true --node b
  cluster up --name api --control-plane-only --with kcm`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range nodes {
				n, err := run.ParseNode(text)
				if err != nil {
					return err
				}
				o.Nodes = append(o.Nodes, n)
			}
			c, err := a.cluster(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if err := c.Up(ctx, o); err != nil {
				return err
			}
			usage, err := c.Usage()
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), usage)
			return nil
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&o.Version, "version", "", "Kubernetes release (default "+build.DefaultVersion+")")
	flags.StringArrayVar(&nodes, "node", nil, "`NAME[,sim=DIR][,label=KEY=VALUE]...` of a node; may be repeated")
	flags.BoolVar(&o.ControlPlaneOnly, "control-plane-only", false, "only etcd and the API server, on 127.0.0.1; no root")
	flags.StringSliceVar(&o.With, "with", nil, "with --control-plane-only: what else to start: kcm, scheduler")
	flags.StringVar(&o.FeatureGates, "feature-gates", "", "feature gates of all daemons, as A=true,B=false")
	flags.StringVar(&o.RuntimeConfig, "runtime-config", "", "API versions to serve beyond the default, as resource.k8s.io/v1beta2=true")
	flags.BoolVar(&o.Keep, "keep", false, "if something fails, leave what was started for inspection")
	timeoutFlag(cmd, &timeout)
	return cmd
}

func (a *app) downCommand() *cobra.Command {
	var all bool
	cmd := a.nameFlag(&cobra.Command{
		Use:   "down",
		Short: "Stop a cluster and remove all there is of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !all {
				c, err := a.cluster(cmd)
				if err != nil {
					return err
				}
				return c.Down()
			}
			out, err := a.output()
			if err != nil {
				return err
			}
			names, err := run.Names(out)
			if err != nil {
				return err
			}
			var errs error
			for _, name := range names {
				c, err := run.New(name, out, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				errs = errors.Join(errs, c.Down())
			}
			return errs
		},
	})
	cmd.Flags().BoolVar(&all, "all", false, "every cluster below the output directory")
	cmd.MarkFlagsMutuallyExclusive("all", "name")
	return cmd
}

func (a *app) nodeCommand() *cobra.Command {
	var actions []string
	for _, action := range run.NodeActions() {
		actions = append(actions, string(action))
	}
	var timeout time.Duration
	cmd := a.nameFlag(&cobra.Command{
		Use:       "node " + strings.Join(actions, "|") + " NODE",
		Short:     "Do something to a node that happens to nodes",
		ValidArgs: actions,
		Args:      cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.cluster(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return c.Node(ctx, args[1], run.NodeAction(args[0]))
		},
	})
	timeoutFlag(cmd, &timeout)
	return cmd
}

func (a *app) execCommand() *cobra.Command {
	var node string
	cmd := a.nameFlag(&cobra.Command{
		Use:   "exec -- COMMAND [ARGUMENT]...",
		Short: "Run a command on a node, or in the cluster's network",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.cluster(cmd)
			if err != nil {
				return err
			}
			return c.Exec(node, args)
		},
	})
	cmd.Flags().StringVar(&node, "node", "", "node whose file system and network to use; without it only the cluster's network")
	// Flags after the command are the command's.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func (a *app) loadImageCommand() *cobra.Command {
	var node string
	cmd := a.nameFlag(&cobra.Command{
		Use:   "load-image FILE.tar",
		Short: "Give nodes an image",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.cluster(cmd)
			if err != nil {
				return err
			}
			return c.LoadImage(node, args[0])
		},
	})
	cmd.Flags().StringVar(&node, "node", "", "only this node")
	return cmd
}

func (a *app) kubeconfigCommand() *cobra.Command {
	return a.nameFlag(&cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the admin's kubeconfig file",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.cluster(cmd)
			if err != nil {
				return err
			}
			path, err := c.Kubeconfig()
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), path)
			return nil
		},
	})
}
