// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var file, source, output, reference, architecture string
	cmd := &cobra.Command{
		Use:           "image --file SPEC.yaml --source DIR --output IMAGE.tar",
		Short:         "Make a container image from a YAML file, and print its digest",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			spec, err := parseSpec(text)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if reference != "" {
				spec.Reference = reference
			}
			digest, err := makeTarball(spec, source, architecture, output)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), digest)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&file, "file", "", "what to make (required)")
	flags.StringVar(&source, "source", ".", "directory that relative sources are in")
	flags.StringVar(&output, "output", "", "tarball to write, as `docker save` does (required)")
	flags.StringVar(&reference, "reference", "", "name and tag, instead of those in the file")
	flags.StringVar(&architecture, "architecture", runtime.GOARCH, "architecture that the programs are for")
	for _, required := range []string{"file", "output"} {
		if err := cmd.MarkFlagRequired(required); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

// makeTarball writes the image and returns its digest. The file appears whole or
// not at all.
func makeTarball(spec Spec, source, architecture, output string) (string, error) {
	tag, err := name.NewTag(spec.Reference)
	if err != nil {
		return "", fmt.Errorf("reference: %w", err)
	}
	image, err := makeImage(spec, source, architecture)
	if err != nil {
		return "", err
	}
	if err := tarball.WriteToFile(output+".new", tag, image); err != nil {
		return "", fmt.Errorf("write %s: %w", output, err)
	}
	if err := os.Rename(output+".new", output); err != nil {
		return "", err
	}
	digest, err := image.Digest()
	return digest.String(), err
}
