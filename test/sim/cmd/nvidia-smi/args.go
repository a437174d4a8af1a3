// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// args is a parsed command line.
type args struct {
	list    bool
	mig     string // "0" or "1" of -mig
	mode    *int   // of -c
	reset   bool
	fields  []string
	ids     []string // of -i; none means all
	header  bool
	units   bool
	devRoot string
}

func parse(argv []string) (args, error) {
	a := args{header: true, units: true}
	format := ""
	for i := 0; i < len(argv); i++ {
		name, value, joined := strings.Cut(argv[i], "=")
		if takesValue(name) && !joined {
			if i++; i == len(argv) {
				return a, invalid("Option %s is missing its value.", name)
			}
			value = argv[i]
		}
		switch name {
		case "-L", "--list-gpus":
			a.list = true
		case "-r", "--gpu-reset":
			a.reset = true
		case "-mig", "--multi-instance-gpu":
			if a.mig = value; value != "0" && value != "1" {
				return a, invalid("Invalid MIG mode \"%s\". Specify either 0 or 1.", value)
			}
		case "-c", "--compute-mode":
			mode, err := sim.ParseComputeMode(value)
			if err != nil {
				return a, invalid("Invalid compute mode \"%s\". Specify 0/DEFAULT, 2/PROHIBITED or 3/EXCLUSIVE_PROCESS.", value)
			}
			a.mode = &mode
		case "--query-gpu":
			a.fields = strings.Split(value, ",")
		case "--format":
			format = value
		case "-i", "--id":
			a.ids = strings.Split(value, ",")
		case "--dev-root":
			a.devRoot = value
		default:
			return a, invalid("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help. (%s)", argv[i])
		}
	}
	if a.list || a.reset || a.mig != "" || a.mode != nil {
		return a, nil
	}
	if len(a.fields) == 0 {
		return a, invalid("This simulated nvidia-smi knows -L, --query-gpu=FIELDS --format=csv, -c MODE, -mig 0|1 and --gpu-reset, each with -i, mig, compute-policy and memory-limits.")
	}
	return a.withFormat(format)
}

func takesValue(option string) bool {
	switch option {
	case "--query-gpu", "--format", "-i", "--id", "--dev-root", "-mig", "--multi-instance-gpu", "-c", "--compute-mode":
		return true
	}
	return false
}

// withFormat reads --format, which must name csv.
func (a args) withFormat(format string) (args, error) {
	csv := false
	for word := range strings.SplitSeq(format, ",") {
		switch strings.TrimSpace(word) {
		case "csv":
			csv = true
		case "noheader":
			a.header = false
		case "nounits":
			a.units = false
		default:
			return a, invalid("\"%s\" is not recognized as a valid format option.", word)
		}
	}
	if !csv {
		return a, invalid("\"--format=\" switch is missing. It has to be specified together with query switch.")
	}
	return a, nil
}

func invalid(format string, v ...any) error {
	return failure{exitInvalid, fmt.Sprintf(format, v...)}
}
