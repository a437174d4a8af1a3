// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// code is a failure with the number of a return code of the library, as the tool
// exits.
func code(c sim.Code, format string, v ...any) error {
	return failure{int(c), fmt.Sprintf(format, v...)}
}

// switchMIG is -mig. A mode that could not be activated is a warning when it is
// pending, and the tool succeeds.
func switchMIG(h *host, gpus []gpu, on bool, argv []string, out io.Writer) error {
	verb, past := "disable", "Disabled"
	if on {
		verb, past = "enable", "Enabled"
	}
	if h.admin() {
		if err := h.m.Log(sim.Logged{Call: "nvidia-smi", Args: argv}); err != nil {
			return err
		}
	}
	for _, g := range gpus {
		activation, ret := h.setMIGMode(g, on)
		switch {
		case ret == sim.NotSupported:
			fmt.Fprintf(out, "Unable to %s MIG Mode for GPU %s: %s\nTreating as warning and moving on.\n", verb, g.busID(), ret.Words())
		case ret != sim.Success:
			return code(ret, "Unable to %s MIG Mode for GPU %s: %s\nTerminating early due to previous errors.", verb, g.busID(), ret.Words())
		case activation == sim.Success:
			fmt.Fprintf(out, "%s MIG Mode for GPU %s\n", past, g.busID())
		case h.pending(g) != on:
			return code(activation, "Unable to %s MIG Mode for GPU %s: %s\nTerminating early due to previous errors.", verb, g.busID(), activation.Words())
		default:
			warnPending(out, g, verb, activation)
		}
	}
	fmt.Fprintln(out, "All done.")
	return nil
}

func warnPending(out io.Writer, g gpu, verb string, activation sim.Code) {
	fmt.Fprintf(out, "Warning: MIG mode is in pending %s state for GPU %s:%s\n", verb, g.busID(), activation.Words())
	if activation == sim.InUse {
		fmt.Fprintf(out, "%s is currently being used by one or more other processes (e.g. CUDA application or a monitoring application "+
			"such as another instance of nvidia-smi). Please first kill all processes using the device and retry the command "+
			"or reboot the system to make MIG mode effective.\n", g.busID())
		return
	}
	fmt.Fprintf(out, "Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU %s\n", g.busID())
}

// setMIGMode is nvmlDeviceSetMigMode.
func (h *host) setMIGMode(g gpu, on bool) (activation, ret sim.Code) {
	if !h.admin() {
		return sim.Success, sim.NoPermission
	}
	var forced *sim.Code
	call := sim.Call{Name: "nvmlDeviceSetMigMode", UUID: g.UUID, Activated: func(c sim.Code) { forced = &c }}
	ret = h.change(call, func(s *sim.State, now *sim.GPU) sim.Code {
		if !g.product.MIG {
			return sim.NotSupported
		}
		activation = s.SwitchMIG(now, on, forced)
		return sim.Success
	})
	return activation, ret
}

// pending is the mode that the GPU has after its next reset.
func (h *host) pending(g gpu) bool {
	s, err := h.m.State()
	if err != nil {
		return false
	}
	now := s.GPU(g.UUID)
	return now != nil && now.MIG.Pending
}

// change is a call that changes a GPU, which must be there.
func (h *host) change(c sim.Call, f func(*sim.State, *sim.GPU) sim.Code) sim.Code {
	return h.m.Change(c, func(s *sim.State) sim.Code {
		g := s.GPU(c.UUID)
		switch {
		case g == nil:
			return sim.InvalidArgument
		case g.Lost:
			return sim.GPUIsLost
		}
		return f(s, g)
	})
}

// reset is --gpu-reset.
func reset(h *host, gpus []gpu, out io.Writer) error {
	for _, g := range gpus {
		switch {
		case h.uid != 0:
			return code(sim.NoPermission, "Unable to reset GPU %s: %s", g.busID(), sim.NoPermission.Words())
		case h.s.Options.ResetForbidden:
			return code(sim.NotSupported, "Resetting GPU %s is not supported.", g.busID())
		}
		if err := h.m.ResetGPU(h.s.Index(g.UUID)); err != nil {
			return code(sim.InUse, "The following GPUs could not be reset:\n  GPU %s: %s\n", g.busID(), sim.InUse.Words())
		}
		fmt.Fprintf(out, "GPU %s was successfully reset.\n", g.busID())
	}
	fmt.Fprintln(out, "All done.")
	return nil
}
