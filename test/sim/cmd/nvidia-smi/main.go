// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command nvidia-smi is a stand-in for NVIDIA's tool on the simulated machine.
//
// It shows what the real one shows for -L and --query-gpu, with the same words
// and exit codes, and like the real one it knows only the GPUs whose device
// node its container may open. It is built without cgo, so that it runs in any
// container image.
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
)

func main() {
	os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
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

func run(argv []string, env func(string) string, out, errOut io.Writer) int {
	err := smi(argv, env, out)
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

func smi(argv []string, env func(string) string, out io.Writer) error {
	a, err := parse(argv)
	if err != nil {
		return err
	}
	dev := orDefault(a.devRoot, orDefault(env("COTENANT_SIM_DEV"), "/dev"))
	m, err := sim.Open(orDefault(env("COTENANT_SIM_STATE"), "/run/cotenant-sim"))
	if err != nil || !opens(dev, "nvidiactl") {
		return failure{exitNoDriver, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. " +
			"Make sure that the latest NVIDIA driver is installed and running.\n"}
	}
	s, err := m.State()
	if err != nil {
		return err
	}
	gpus, err := selected(visible(s, dev), a.ids)
	if err != nil {
		return err
	}
	if a.list {
		return list(gpus, out)
	}
	return query(s, gpus, a, out)
}

func orDefault(v, def string) string {
	if v == "" {
		return def
	}
	return v
}
