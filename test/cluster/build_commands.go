// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
)

func (a *app) builder(cmd *cobra.Command) (*build.Builder, error) {
	repository, err := build.FindRepository(".")
	if err != nil {
		return nil, err
	}
	out, err := a.output()
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(string(out))
	if err != nil {
		return nil, err
	}
	return &build.Builder{Repository: repository, Output: build.Output(abs), Progress: cmd.ErrOrStderr()}, nil
}

func (a *app) buildCommand() *cobra.Command {
	var version string
	var controlPlaneOnly bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Make everything a cluster runs; the first time takes about ten minutes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := build.ParseVersion(version)
			if err != nil {
				return err
			}
			b, err := a.builder(cmd)
			if err != nil {
				return err
			}
			return b.Build(cmd.Context(), build.Options{Version: v, ControlPlaneOnly: controlPlaneOnly})
		},
	}
	cmd.Flags().StringVar(&version, "version", build.DefaultVersion, "Kubernetes release; known to work: "+strings.Join(build.Known(), ", "))
	cmd.Flags().BoolVar(&controlPlaneOnly, "control-plane-only", false, "only what `up --control-plane-only` needs; no root")
	return cmd
}

func (a *app) imagesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "images",
		Short: "Make the images that every node is given, and print their paths",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.builder(cmd)
			if err != nil {
				return err
			}
			if _, err := b.Tools(cmd.Context()); err != nil {
				return err
			}
			if _, err := b.Images(cmd.Context()); err != nil {
				return err
			}
			for _, name := range build.ImageNames() {
				fmt.Fprintln(cmd.OutOrStdout(), b.Output.Image(name))
			}
			return nil
		},
	}
}
