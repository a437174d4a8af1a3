// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError is a command line that can never work.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// newCommand returns the whole command line. env reads the environment, from
// which every flag takes its default.
func newCommand(env func(string) string) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "cotenant-plugin",
		Short:         "Publish the GPUs of this node and prepare them for claims",
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return usageError{err}
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%s; see --help", oneLine(err))}
	})
	err := o.register(cmd.Flags(), env)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if err != nil {
			return usageError{err}
		}
		return nil
	}
	cmd.AddCommand(newJournalCommand(env))
	return cmd
}

// noArguments refuses arguments as part of the command line's shape.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q; see --help", args[0])}
	}
	return nil
}

func oneLine(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}
