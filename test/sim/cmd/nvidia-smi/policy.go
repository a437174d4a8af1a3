// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// policyArgs is a parsed command line of the subcommand compute-policy.
type policyArgs struct {
	argv  []string
	list  bool
	slice string // of --set-timeslice
	ids   []string
}

// sliceNames are the time-slices by their numbers.
var sliceNames = []string{"Default", "Short", "Medium", "Long"}

func parsePolicy(argv []string) (policyArgs, error) {
	a := policyArgs{argv: argv}
	err := eachOption(argv[1:], []string{"-i", "--id", "--set-timeslice"}, func(name, value string) error {
		switch name {
		case "-l", "--list":
			a.list = true
		case "-i", "--id":
			a.ids = split(value)
		case "--set-timeslice":
			if n, err := strconv.Atoi(value); err != nil || n < 0 || n >= len(sliceNames) {
				return invalid("Invalid timeslice value \"%s\". Specify 0 (Default), 1 (Short), 2 (Medium) or 3 (Long).", value)
			}
			a.slice = value
		default:
			return invalid("Invalid combination of input arguments. Please run 'nvidia-smi compute-policy -h' for help. (%s)", name)
		}
		return nil
	})
	if err == nil && a.list == (a.slice != "") {
		err = invalid("Specify either -l or --set-timeslice with nvidia-smi compute-policy.")
	}
	return a, err
}

// eachOption calls f for each option of a command line, with its value where it
// takes one.
func eachOption(argv, valued []string, f func(name, value string) error) error {
	for i := 0; i < len(argv); i++ {
		name, value, joined := strings.Cut(argv[i], "=")
		if !joined && slices.Contains(valued, name) {
			if i++; i == len(argv) {
				return invalid("Option %s is missing its value.", name)
			}
			value = argv[i]
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// run does what the command line says.
func (a policyArgs) run(h *host, gpus []gpu, out io.Writer) error {
	if a.list {
		return listPolicies(gpus, out)
	}
	if err := h.log(a.argv); err != nil {
		return err
	}
	n := int(a.slice[0] - '0')
	for _, g := range gpus {
		if g.Lost {
			return g.lost()
		}
		c := h.asRoot(sim.Call{Name: sim.SetTimeSliceCall, UUID: g.UUID}, func(s *sim.State, now *sim.GPU) sim.Code { return s.SetTimeSlice(now, n) })
		if c != sim.Success {
			return code(c, "Failed to set timeslice policy with value %s for GPU %d : %s\nFailed to set timeslice for requested devices : %[3]s", sliceNames[n], g.index, c.Words())
		}
		fmt.Fprintf(out, "Successfully set timeslice policy with value %s for GPU %d\n", sliceNames[n], g.index)
	}
	return nil
}

// listPolicies prints -l. The table of the real tool is not confirmed.
func listPolicies(gpus []gpu, out io.Writer) error {
	const rule = "+-------------------------------------+\n"
	fmt.Fprint(out, rule, "| GPU compute policies:               |\n| GPU     Name             Value      |\n|=====================================|\n")
	for _, g := range gpus {
		if g.Lost {
			return g.lost()
		}
		value := sliceNames[g.TimeSlice]
		if !g.product.TimeSlice || g.MIG.Current {
			value = notAvailable
		}
		fmt.Fprintf(out, "| %3d     %-16s %-10s |\n", g.index, "timeslice", value)
	}
	fmt.Fprint(out, rule)
	return nil
}
