// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs builds the stand-in programs of the simulated machine, for
// tests that run them as processes of their own.
//
// It may import nothing of this module. Only tests import it.
package programs

import (
	"fmt"
	"os"
	"os/exec"
)

const commands = "github.com/cotenant-dev/cotenant/test/sim/cmd/"

// The programs that Build knows. The MPS control daemon needs the server beside it.
const (
	SMI        = "nvidia-smi"
	MPSControl = "nvidia-cuda-mps-control"
	MPSServer  = "nvidia-cuda-mps-server"
	CUDA       = "simcuda"
)

// Build builds programs into dir, which must exist, from the source of the module
// in which the caller runs. It needs the go command, and takes seconds the first
// time.
func Build(dir string, names ...string) error {
	args := []string{"build", "-o", dir + "/"}
	for _, name := range names {
		args = append(args, commands+name)
	}
	cmd := exec.Command("go", args...)
	// As in an image, where there may be no C library.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %q: %w\n%s", names, err, out)
	}
	return nil
}
