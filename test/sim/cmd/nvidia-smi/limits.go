// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// limitArgs is a parsed command line of the subcommand memory-limits. Limits are
// in bytes, nil when not given.
type limitArgs struct {
	argv       []string
	ids        []string
	cgroup     string
	soft, hard *uint64
}

func parseLimits(argv []string) (limitArgs, error) {
	a := limitArgs{argv: argv}
	valued := []string{"-i", "--id", "-n", "--namespace", "--soft-limit", "--hard-limit"}
	err := eachOption(argv[1:], valued, func(name, value string) (err error) {
		switch name {
		case "-i", "--id":
			a.ids = split(value)
		case "-n", "--namespace":
			a.cgroup = value
		case "--soft-limit":
			a.soft, err = mebibytes(name, value)
		case "--hard-limit":
			a.hard, err = mebibytes(name, value)
		default:
			return invalid("Invalid combination of input arguments. Please run 'nvidia-smi memory-limits -h' for help. (%s)", name)
		}
		return err
	})
	if err == nil && (len(a.ids) == 0 || a.cgroup == "") {
		err = invalid("Specify a GPU with -i and a control group with -n for nvidia-smi memory-limits.")
	}
	return a, err
}

// mebibytes reads a number of MiB. One that bytes cannot be counted for is none.
func mebibytes(option, value string) (*uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > sim.NoMemoryLimit>>20 {
		return nil, invalid("Option %s has the value \"%s\", which is not a number of MiB.", option, value)
	}
	return new(n << 20), nil
}

// run sets the limits that the command line has, and shows those there are when it
// has none.
func (a limitArgs) run(h *host, gpus []gpu, out io.Writer) error {
	const set = "nvmlDeviceSetMemoryLimits_v1"
	if !h.s.HasSymbol(set) {
		return invalid("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help. (memory-limits)")
	}
	show := a.soft == nil && a.hard == nil
	if !show {
		if err := h.log(a.argv); err != nil {
			return err
		}
	}
	for _, g := range gpus {
		c := sim.Success
		if !show {
			c = h.asRoot(sim.Call{Name: set, UUID: g.UUID}, func(s *sim.State, now *sim.GPU) sim.Code {
				return s.LimitMemory(now, a.cgroup, given(a.soft, 0), given(a.hard, sim.NoMemoryLimit))
			})
		}
		if c != sim.Success {
			return code(c, "Failed to set memory limits for GPU %d : %s", g.index, c.Words())
		}
		if err := a.show(h, g, out); err != nil {
			return err
		}
	}
	return nil
}

func given(v *uint64, def uint64) uint64 {
	if v == nil {
		return def
	}
	return *v
}

// show prints the limits of one GPU. The words of the real tool are not confirmed.
func (a limitArgs) show(h *host, g gpu, out io.Writer) error {
	var l sim.MemoryLimit
	var used uint64
	c := h.m.Query(sim.Call{Name: "nvmlDeviceGetMemoryLimits_v1", UUID: g.UUID}, func(s *sim.State) (c sim.Code) {
		now := s.GPU(g.UUID)
		if now == nil || now.Lost {
			return sim.GPUIsLost
		}
		l, used, c = s.MemoryLimits(now, a.cgroup)
		return c
	})
	if c != sim.Success {
		return code(c, "Failed to get memory limits for GPU %d : %s", g.index, c.Words())
	}
	hard := "unlimited"
	if l.Hard != sim.NoMemoryLimit {
		hard = fmt.Sprintf("%d MiB", l.Hard>>20)
	}
	fmt.Fprintf(out, "GPU %d, %s: soft limit %d MiB, hard limit %s, used %d MiB\n", g.index, a.cgroup, l.Soft>>20, hard, used>>20)
	return nil
}
