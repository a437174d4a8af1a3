// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command nvidia-smi is a stand-in for NVIDIA's tool on the simulated machine.
//
// It does what the real one does for -L, --query-gpu, -c, -mig, --gpu-reset and the
// subcommands mig, compute-policy and memory-limits, with the same words and exit codes, and like the real one it
// knows only the GPUs whose device node its container may open, and the MIG
// devices of which it may open the nodes of both instances. It is built without
// cgo, so that it runs in any container image.
//
// Where the machine is and where the device nodes are it takes from
// COTENANT_SIM_STATE (default /run/cotenant-sim) and COTENANT_SIM_DEV
// (default /dev).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nodes"
)

func main() {
	os.Exit(run(os.Args[1:], caller{os.Getenv, os.Geteuid()}, os.Stdout, os.Stderr))
}

// caller is who runs the tool.
type caller struct {
	env func(string) string
	uid int
}

// failure is how nvidia-smi fails: with words on standard output and a code of
// its manual page, RETURN VALUE.
type failure struct {
	code  int
	words string
}

func (f failure) Error() string { return f.words }

const (
	exitInvalid   = 2
	exitNotFound  = 6
	exitNoDriver  = 9
	exitGPUIsLost = 15
)

func run(argv []string, by caller, out, errOut io.Writer) int {
	err := smi(argv, by, out)
	var f failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f):
		fmt.Fprintln(out, f.words)
		return f.code
	default:
		fmt.Fprintln(errOut, "nvidia-smi (simulated):", err)
		return 255
	}
}

func smi(argv []string, by caller, out io.Writer) error {
	// The subcommand must be the first argument, as with the real tool.
	if len(argv) > 0 {
		switch argv[0] {
		case "mig":
			a, err := parseMIG(argv[1:])
			return subcommand(by, a.ids, err, a.run, out)
		case "compute-policy":
			a, err := parsePolicy(argv)
			return subcommand(by, a.ids, err, a.run, out)
		case "memory-limits":
			a, err := parseLimits(argv)
			return subcommand(by, a.ids, err, a.run, out)
		}
	}
	a, err := parse(argv)
	if err != nil {
		return err
	}
	return on(by, a.devRoot, a.ids, func(h *host, gpus []gpu) error {
		switch {
		case a.list:
			return list(gpus, out)
		case a.reset:
			return reset(h, gpus, out)
		case a.mig != "":
			return switchMIG(h, gpus, a.mig == "1", argv, out)
		case a.mode != nil:
			return setComputeMode(h, gpus, *a.mode, argv, out)
		}
		return query(h.s, gpus, a, out)
	})
}

// subcommand runs one whose command line was parsed, err saying how that went.
func subcommand(by caller, ids []string, err error, run func(*host, []gpu, io.Writer) error, out io.Writer) error {
	if err != nil {
		return err
	}
	return on(by, "", ids, func(h *host, gpus []gpu) error { return run(h, gpus, out) })
}

// host is the machine as this container sees it.
type host struct {
	m   *sim.Machine
	s   sim.State
	dev nodes.Dev
	uid int
}

// on runs f on the GPUs that ids name.
func on(by caller, devRoot string, ids []string, f func(*host, []gpu) error) error {
	dev := nodes.Dev(orDefault(devRoot, orDefault(by.env("COTENANT_SIM_DEV"), "/dev")))
	m, err := sim.Open(orDefault(by.env("COTENANT_SIM_STATE"), "/run/cotenant-sim"))
	if err != nil || !dev.Control() {
		return failure{exitNoDriver, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. " +
			"Make sure that the latest NVIDIA driver is installed and running.\n"}
	}
	s, err := m.State()
	if err != nil {
		return err
	}
	all := visible(s, dev)
	if err := wholeGPUs(all, ids); err != nil {
		return err
	}
	gpus, err := selected(all, ids)
	if err != nil {
		return err
	}
	return f(&host{m, s, dev, by.uid}, gpus)
}

// admin reports whether this process may partition GPUs: root, where the node
// for configuring MIG can be opened.
func (h *host) admin() bool {
	return h.uid == 0 && h.dev.Capability(sim.CapabilityConfig)
}

func orDefault(v, def string) string {
	if v == "" {
		return def
	}
	return v
}
