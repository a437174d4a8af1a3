// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/plugin/journal"
)

// What `journal check` writes first when the file is not damaged but cannot be
// used: the parent reads it back.
const (
	wordNewer = "newer: "
	wordInUse = "in use: "
)

// checkInChild returns the checker that looks at a journal from another process:
// a damaged file may kill the one that maps it.
func checkInChild(ctx context.Context) journal.Checker {
	return func(path string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, self, "journal", "check", "--file", path)
		cmd.Stderr = &out
		err = cmd.Run()
		if err == nil {
			return nil
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(out.String(), "cotenant-plugin: "), "\n")
		switch {
		case strings.HasPrefix(line, wordNewer):
			return fmt.Errorf("%w: %s", journal.ErrNewer, strings.TrimPrefix(line, wordNewer))
		case strings.HasPrefix(line, wordInUse):
			return fmt.Errorf("%w: %s", journal.ErrInUse, strings.TrimPrefix(line, wordInUse))
		}
		return fmt.Errorf("its check ended with %w: %s", err, line)
	}
}

func newJournalCommand(env func(string) string) *cobra.Command {
	file := ""
	cmd := &cobra.Command{Use: "journal", Short: "Look at the journal of this node"}
	dir := env("KUBELET_PLUGINS_DIRECTORY_PATH")
	if dir == "" {
		dir = "/var/lib/kubelet/plugins"
	}
	cmd.PersistentFlags().StringVar(&file, "file", filepath.Join(dir, "gpu.nvidia.com/journal.db"), "the journal")
	cmd.AddCommand(
		&cobra.Command{Use: "check", Short: "Check every page and record; exit 0 if all is well", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return checkFile(file) }},
		&cobra.Command{Use: "show", Short: "Show claims, holds and fences, also while the plugin runs", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return show(c.Context(), c.OutOrStdout(), file) }},
		&cobra.Command{Use: "clear", Short: "Give back the GPUs that are held or fenced; only while the plugin is stopped and nothing uses them", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return clearFile(c.Context(), c.OutOrStdout(), file) }},
	)
	return cmd
}

func checkFile(file string) error {
	err := journal.CheckFile(file)
	switch {
	case errors.Is(err, journal.ErrNewer):
		return fmt.Errorf("%s%w", wordNewer, err)
	case errors.Is(err, journal.ErrInUse):
		return fmt.Errorf("%s%w; stop the plugin, or look with `journal show`", wordInUse, err)
	}
	return err
}

// copies is how often show tries to copy a journal that is being written.
const copies = 5

// show works on a copy, since the plugin holds the file locked. A copy taken in
// the middle of a write does not pass the check; then another is taken.
func show(ctx context.Context, out io.Writer, file string) error {
	dir, err := os.MkdirTemp("", "cotenant-journal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dup := filepath.Join(dir, "journal.db")
	for range copies {
		if err = copyFile(file, dup); err != nil {
			return err
		}
		if err = checkInChild(ctx)(dup); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	return journal.Show(out, dup)
}

func copyFile(src, dst string) error {
	raw, err := os.ReadFile(src)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	return os.WriteFile(dst, raw, 0o600)
}

func clearFile(ctx context.Context, out io.Writer, file string) error {
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if err := checkInChild(ctx)(file); err != nil {
		return err
	}
	cleared, err := journal.Clear(file)
	for _, what := range cleared {
		fmt.Fprintln(out, what)
	}
	if err == nil && len(cleared) == 0 {
		fmt.Fprintln(out, "nothing was held or fenced")
	}
	return err
}
