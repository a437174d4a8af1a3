// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// TestMain is the program itself in the child that is to become a daemon.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == enterCommand {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runCommand runs the command line and returns its output and error.
func runCommand(ctx context.Context, args ...string) (string, error) {
	cmd := newCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	return out.String(), err
}

// A command line that can never work is refused in one line that names the value.
func TestBadCommandLines(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"unknown flag":     {[]string{"--no-such-flag"}, "--no-such-flag"},
		"relative root":    {[]string{"--root", "mps"}, `--root "mps" must be an absolute path`},
		"relative socket":  {[]string{"status", "--socket", "s"}, `--socket "s"`},
		"socket in root":   {[]string{"--root", "/r", "--socket", "/r/mps.sock"}, "lies below --root"},
		"logs in root":     {[]string{"--root", "/r", "--log-dir", "/r/logs"}, "lies below --root"},
		"size":             {[]string{"--shm-size", "much"}, `--shm-size "much"`},
		"size with option": {[]string{"--shm-size", "1g,mode=0"}, `--shm-size`},
		"percentage":       {[]string{"--shm-size", "101%"}, `--shm-size "101%"`},
		"stray argument":   {[]string{"serve"}, "serve"},
		"stray for status": {[]string{"status", "x"}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runCommand(t.Context(), c.args...)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v, want one line that says %q", err, c.says)
			}
			var usage usageError
			if !errors.As(err, &usage) {
				t.Errorf("not told apart as a usage error: %v", err)
			}
		})
	}
}

// The program serves until it is told to end, and the commands ask it.
func TestServes(t *testing.T) {
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "mps.sock")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := runCommand(ctx, "--socket", socket, "--root", filepath.Join(dir, "r"), "--log-dir", filepath.Join(dir, "logs"), "--driver-root", filepath.Join(dir, "driver"))
		ended <- err
	}()
	client := mps.New(socket)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := client.Hello(ctx); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not answer")
		}
	}
	out, err := runCommand(ctx, "status", "--socket", socket)
	if err == nil {
		t.Error("status of one without a driver, or without root, is well")
	}
	var l mps.List
	if err := json.Unmarshal([]byte(out), &l); err != nil || l.Hello.Unable == "" || l.Hello.Root != filepath.Join(dir, "r") {
		t.Errorf("status %s, %v", out, err)
	}
	if _, err := runCommand(ctx, "pause", "--why", "a test", "--socket", socket); err != nil {
		t.Errorf("pause: %v", err)
	}
	if _, err := runCommand(ctx, "status", "--socket", socket); err == nil || !strings.Contains(err.Error(), "paused: a test") {
		t.Errorf("status of one that is paused: %v", err)
	}
	if _, err := runCommand(ctx, "resume", "--socket", socket); err != nil {
		t.Errorf("resume: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
	if _, err := runCommand(t.Context(), "status", "--socket", socket); err == nil || !strings.Contains(err.Error(), socket) {
		t.Errorf("status of nobody: %v", err)
	}
}

// A child that cannot become a daemon says why, also to who started it.
func TestEnterFails(t *testing.T) {
	told, mine, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	child, err := os.StartProcess("/proc/self/exe", []string{"cotenant-mps", enterCommand, "{"}, &os.ProcAttr{Files: []*os.File{nil, nil, nil, mine}, Env: os.Environ()})
	if err := errors.Join(err, mine.Close()); err != nil {
		t.Fatal(err)
	}
	why := make([]byte, 256)
	n, _ := told.Read(why)
	state, err := child.Wait()
	if err != nil || state.ExitCode() != exitFailed || !strings.Contains(string(why[:n]), "read what to become") {
		t.Errorf("%v, %v: %q", state.Sys().(syscall.WaitStatus), err, why[:n])
	}
}
