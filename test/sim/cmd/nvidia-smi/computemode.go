// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// setComputeMode is -c.
func setComputeMode(h *host, gpus []gpu, mode int, argv []string, out io.Writer) error {
	if err := h.log(argv); err != nil {
		return err
	}
	for _, g := range gpus {
		c := h.asRoot(sim.Call{Name: "nvmlDeviceSetComputeMode", UUID: g.UUID}, func(_ *sim.State, now *sim.GPU) sim.Code {
			return now.SetComputeMode(mode)
		})
		if c != sim.Success {
			return code(c, "Unable to set the compute mode for GPU %s: %s\nTerminating early due to previous errors.", g.busID(), c.Words())
		}
		fmt.Fprintf(out, "Set compute mode to %s for GPU %s.\n", sim.ComputeModeName(mode), g.busID())
	}
	fmt.Fprintln(out, "All done.")
	return nil
}

// asRoot is a call that changes a GPU, which root alone may make.
func (h *host) asRoot(c sim.Call, f func(*sim.State, *sim.GPU) sim.Code) sim.Code {
	if h.uid != 0 {
		return sim.NoPermission
	}
	return h.change(c, f)
}

// log notes a command line that may change the machine. Who is not root changes
// nothing.
func (h *host) log(argv []string) error {
	if h.uid != 0 {
		return nil
	}
	return h.m.Log(sim.Logged{Call: "nvidia-smi", Args: argv})
}
