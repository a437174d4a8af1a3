// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command nvidia-cuda-mps-control is a stand-in for NVIDIA's MPS control daemon on
// the simulated machine, and for its command line.
//
// -d starts a daemon and returns when it takes commands; -f is the daemon itself,
// for a supervisor to hold as its child. Without either the commands on the
// command line, or those on standard input, one a line, go to the daemon.
//
// The daemon takes the environment of the real one: CUDA_VISIBLE_DEVICES,
// CUDA_MPS_PIPE_DIRECTORY (/tmp/nvidia-mps) and CUDA_MPS_LOG_DIRECTORY
// (/var/log/nvidia-mps). Where the machine is it takes from COTENANT_SIM_STATE
// (/run/cotenant-sim). nvidia-cuda-mps-server must lie beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cotenant-dev/cotenant/test/sim/mps"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(argv []string, in io.Reader, out io.Writer) error {
	o, err := parse(argv)
	if err != nil {
		return err
	}
	pipe := orDefault(os.Getenv("CUDA_MPS_PIPE_DIRECTORY"), "/tmp/nvidia-mps")
	switch {
	case o.background:
		return background(argv)
	case !o.daemon:
		if len(o.command) > 0 {
			in = strings.NewReader(strings.Join(o.command, " "))
		}
		return mps.Send(pipe, in, out)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return mps.Control(ctx, mps.Config{
		Machine:       orDefault(os.Getenv("COTENANT_SIM_STATE"), "/run/cotenant-sim"),
		PipeDirectory: pipe,
		LogDirectory:  orDefault(os.Getenv("CUDA_MPS_LOG_DIRECTORY"), "/var/log/nvidia-mps"),
		Devices:       devices(os.Getenv("CUDA_VISIBLE_DEVICES")),
		MultiUser:     o.multiUser,
		ServerProgram: filepath.Join(filepath.Dir(exe), "nvidia-cuda-mps-server"),
	}, sayReady)
}

// options is a parsed command line.
type options struct {
	background bool // -d
	daemon     bool // -f
	multiUser  bool // -M, -m
	command    []string
}

func parse(argv []string) (options, error) {
	var o options
	for i, arg := range argv {
		if !strings.HasPrefix(arg, "-") {
			o.command = argv[i:]
			break
		}
		switch arg {
		case "-d":
			o.background = true
		case "-f":
			o.daemon = true
		case "-M", "-m", "--multiuser-server":
			o.multiUser = true
		case "-S":
			// Static partitions of multiprocessors are not simulated; none can be made.
		default:
			return o, fmt.Errorf("invalid option %q: want -d, -f, -M, -S, or commands", arg)
		}
	}
	if o.background && o.daemon {
		return o, errors.New("-d and -f exclude each other")
	}
	if len(o.command) > 0 && (o.background || o.daemon) {
		return o, fmt.Errorf("a daemon takes no command %q: give it to one that runs", o.command)
	}
	return o, nil
}

// devices reads CUDA_VISIBLE_DEVICES.
func devices(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func orDefault(v, def string) string {
	if v == "" {
		return def
	}
	return v
}
