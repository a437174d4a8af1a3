// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/cotenant-dev/cotenant/plugin/journal"
)

var testTime = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// TestMain is the program itself in the child that checks a journal.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "journal" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runCommand runs the command line and returns its error.
func runCommand(env map[string]string, args ...string) error {
	cmd := newCommand(func(k string) string { return env[k] })
	cmd.SetArgs(args)
	return cmd.ExecuteContext(context.Background())
}

// A command line that can never work is refused in one line that names the value.
func TestBadCommandLines(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		says string
	}{
		"no node name":      {says: "--node-name (or NODE_NAME) is required"},
		"not a node name":   {args: []string{"--node-name", "No_Node"}, says: `"No_Node"`},
		"unknown flag":      {args: []string{"--no-such-flag"}, says: "--no-such-flag"},
		"bad number":        {args: []string{"--healthcheck-port", "x"}, says: "healthcheck-port"},
		"bad port":          {args: []string{"--node-name", "n1", "--healthcheck-port", "70000"}, says: "70000"},
		"bad environment":   {env: map[string]string{"KUBE_API_QPS": "fast"}, says: "KUBE_API_QPS"},
		"relative path":     {args: []string{"--node-name", "n1", "--cdi-root", "cdi"}, says: `--cdi-root "cdi" must be an absolute path`},
		"stray argument":    {args: []string{"serve"}, says: "serve"},
		"no journal to see": {args: []string{"journal", "check", "--no-such-flag"}, says: "--no-such-flag"},
	} {
		t.Run(name, func(t *testing.T) {
			err := runCommand(c.env, c.args...)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want one that says %q", err, c.says)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			var usage usageError
			if !errors.As(err, &usage) {
				t.Errorf("not told apart as a usage error: %v", err)
			}
		})
	}
}

// Upstream's options are accepted, from flags and from the environment, and named
// once.
func TestUpstreamOptionsAreAccepted(t *testing.T) {
	env := map[string]string{"NODE_NAME": "n1", "FEATURE_GATES": "DynamicMIG=true,", "HOST_DRIVER_ROOT": "/run/nvidia/driver", "CDI_ROOT": "/var/run/cdi"}
	probe, flags := &options{}, pflag.NewFlagSet("t", pflag.ContinueOnError)
	if err := probe.register(flags, func(k string) string { return env[k] }); err != nil {
		t.Fatal(err)
	}
	if err := flags.Parse([]string{"--image-name", "x", "--kube-api-burst", "7"}); err != nil {
		t.Fatal(err)
	}
	if err := probe.complete(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(probe.ignored, " "); got != "--image-name --feature-gates" {
		t.Errorf("ignored %q", got)
	}
	if probe.paths.HostDriverRoot != "/run/nvidia/driver" || probe.paths.CDIRoot != "/var/run/cdi" || probe.burst != 7 || probe.qps != -1 {
		t.Errorf("options %+v", probe)
	}
}

// journal check tells a sound file, a damaged one, one in use and one of a newer
// release apart; the caller reads it back as the right error.
func TestCheckInChild(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.db")
	check := checkInChild(context.Background())
	j, _, err := journal.Open(path, check, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(path); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := check(path); err != nil {
		t.Errorf("sound: %v", err)
	}
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	if err := check(path); err == nil || errors.Is(err, journal.ErrInUse) || errors.Is(err, journal.ErrNewer) {
		t.Errorf("damaged: %v", err)
	}
}

// show reads a journal that is held open, and clear refuses one.
func TestJournalCommands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j, _, err := journal.Open(path, checkInChild(context.Background()), testTime)
	if err != nil {
		t.Fatal(err)
	}
	cmd := newCommand(func(string) string { return "" })
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"journal", "show", "--file", path})
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "0 claims, 0 fences, 0 disagreements") {
		t.Errorf("show printed %q", out.String())
	}
	if err := runCommand(nil, "journal", "clear", "--file", path); !errors.Is(err, journal.ErrInUse) {
		t.Errorf("clear of an open journal: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := runCommand(nil, "journal", "clear", "--file", path); err != nil {
		t.Errorf("clear: %v", err)
	}
	if err := runCommand(nil, "journal", "show", "--file", path+".absent"); err == nil {
		t.Error("a journal that is not there was shown")
	}
}
