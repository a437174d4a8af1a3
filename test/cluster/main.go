// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/run"
)

func main() {
	// A second signal ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// app holds the flags that all commands share.
type app struct {
	out  string
	name string
}

func newRootCommand() *cobra.Command {
	a := new(app)
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes on this machine, for tests and demonstrations",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&a.out, "out", "", "output directory (default out/cluster in the repository)")
	root.AddCommand(
		a.buildCommand(), a.imagesCommand(),
		a.upCommand(), a.downCommand(),
		a.nodeCommand(), a.execCommand(), a.loadImageCommand(), a.kubeconfigCommand(),
		a.internalCommand(),
	)
	return root
}

// output returns the output directory; the repository is looked for only if
// nobody said where.
func (a *app) output() (build.Output, error) {
	if a.out != "" {
		return build.Output(a.out), nil
	}
	repository, err := build.FindRepository(".")
	if err != nil {
		return "", fmt.Errorf("%w, or say --out", err)
	}
	return build.DefaultOutput(repository), nil
}

// nameFlag gives a command the flag that says which cluster it is about.
func (a *app) nameFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.name, "name", "cotenant", "name of the cluster")
	return cmd
}

// cluster returns the cluster that the flags name.
func (a *app) cluster(cmd *cobra.Command) (*run.Cluster, error) {
	out, err := a.output()
	if err != nil {
		return nil, err
	}
	return run.New(a.name, out, cmd.ErrOrStderr())
}
