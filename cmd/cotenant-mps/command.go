// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/plugin/mps/supervisor"
)

// usageError is a command line that can never work.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// enterCommand is how the supervisor runs itself to become a control daemon.
const enterCommand = "exec-daemon"

// newCommand returns the whole command line.
func newCommand() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "cotenant-mps",
		Short:         "Run the MPS control daemons that the node plugin wants",
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := o.check(); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return usageError{fmt.Errorf("%w; see --help", errors.New(first))}
	})
	o.register(cmd)
	pause := o.ask("pause", "End all daemons so that the driver can be unloaded; they stay wanted", func(ctx context.Context, _ *cobra.Command, c *mps.Client) error {
		return c.Pause(ctx, o.why)
	})
	pause.Flags().StringVar(&o.why, "why", "driver upgrade", "what is told to whoever asks")
	cmd.AddCommand(
		o.ask("status", "Print what the supervisor tells, as JSON; exit 0 if it can run daemons", status),
		pause,
		o.ask("resume", "Run the daemons again after a pause", func(ctx context.Context, _ *cobra.Command, c *mps.Client) error {
			return c.Resume(ctx)
		}),
		newEnterCommand(),
	)
	return cmd
}

// noArguments refuses arguments as part of the command line's shape.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q; see --help", args[0])}
	}
	return nil
}

func run(ctx context.Context, o *options) error {
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(o.verbosity)))
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
	s, err := supervisor.New(o.config())
	if err != nil {
		return err
	}
	return s.Run(klog.NewContext(ctx, log))
}

// ask is a command that asks the supervisor that runs.
func (o *options) ask(name, short string, f func(context.Context, *cobra.Command, *mps.Client) error) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error {
		return f(cmd.Context(), cmd, mps.New(o.socket))
	}}
}

func status(ctx context.Context, cmd *cobra.Command, c *mps.Client) error {
	l, err := c.List(ctx, "")
	if err != nil {
		return err
	}
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	if err := enc.Encode(l); err != nil {
		return err
	}
	if l.Hello.Unable != "" {
		return fmt.Errorf("the supervisor %s", l.Hello.Unable)
	}
	return nil
}

// newEnterCommand is for the supervisor alone.
func newEnterCommand() *cobra.Command {
	return &cobra.Command{
		Use: enterCommand, Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return supervisor.Enter(args[0]) },
	}
}
