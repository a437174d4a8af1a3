// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// migArgs is a parsed command line of the subcommand mig.
type migArgs struct {
	argv []string
	// action is one of lgip, lgipp, lgi, lci, cgi, cci, dgi, dci.
	action   string
	profiles []string // of cgi and cci
	withCI   bool     // -C
	ids      []string // of -i; none means all
	gis, cis []int    // of -gi and -ci; none means all
}

// actions are the options that say what to do, in both forms.
var actions = map[string]string{
	"-lgip": "lgip", "--list-gpu-instance-profiles": "lgip",
	"-lgipp": "lgipp", "--list-gpu-instance-possible-placements": "lgipp",
	"-lgi": "lgi", "--list-gpu-instances": "lgi",
	"-lci": "lci", "--list-compute-instances": "lci",
	"-cgi": "cgi", "--create-gpu-instance": "cgi",
	"-cci": "cci", "--create-compute-instance": "cci",
	"-dgi": "dgi", "--destroy-gpu-instance": "dgi",
	"-dci": "dci", "--destroy-compute-instance": "dci",
}

func parseMIG(argv []string) (migArgs, error) {
	a := migArgs{argv: append([]string{"mig"}, argv...)}
	for i := 0; i < len(argv); i++ {
		name, value, joined := strings.Cut(argv[i], "=")
		if !joined && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") && valued(name) {
			i++
			value = argv[i]
		}
		if err := a.set(name, value); err != nil {
			return a, err
		}
	}
	switch {
	case a.action == "":
		return a, invalid("This simulated nvidia-smi mig knows -lgip, -lgipp, -lgi, -lci, -cgi, -cci, -dgi and -dci.")
	case a.action == "cgi" && len(a.profiles) == 0:
		return a, invalid("Option -cgi is missing its value.")
	}
	return a, nil
}

// valued are the options that a value may follow.
func valued(option string) bool {
	action := actions[option]
	return action == "cgi" || action == "cci" || slices.Contains([]string{"-i", "--id", "-gi", "--gpu-instance-id", "-ci", "--compute-instance-id"}, option)
}

func (a *migArgs) set(name, value string) (err error) {
	if action, ok := actions[name]; ok {
		if a.action != "" {
			return invalid("Option %s cannot be combined with another of its kind.", name)
		}
		a.action, a.profiles = action, split(value)
		return nil
	}
	switch name {
	case "-C", "--default-compute-instance":
		a.withCI = true
	case "-i", "--id":
		a.ids = split(value)
	case "-gi", "--gpu-instance-id":
		a.gis, err = numbers(name, value)
	case "-ci", "--compute-instance-id":
		a.cis, err = numbers(name, value)
	default:
		return invalid("Invalid combination of input arguments. Please run 'nvidia-smi mig -h' for help. (%s)", name)
	}
	return err
}

func split(value string) []string {
	if value == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func numbers(option, value string) ([]int, error) {
	var out []int
	for _, text := range split(value) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, invalid("Option %s has the value \"%s\", which is not a number.", option, text)
		}
		out = append(out, n)
	}
	return out, nil
}

// run does what the command line says, on the GPUs that it is about.
func (a migArgs) run(h *host, gpus []gpu, out io.Writer) error {
	able := func(g gpu) bool { return g.product.MIG }
	words := "No MIG-supported devices found."
	if a.action != "lgip" && a.action != "lgipp" {
		able, words = func(g gpu) bool { return g.MIG.Current }, "No MIG-enabled devices found."
	}
	gpus = slices.DeleteFunc(gpus, func(g gpu) bool { return !able(g) })
	if len(gpus) == 0 {
		return failure{exitNotFound, words}
	}
	for _, g := range gpus {
		if g.Lost {
			return g.lost()
		}
	}
	switch a.action {
	case "lgip":
		return listProfiles(gpus, out)
	case "lgipp":
		return listPlacements(gpus, out)
	}
	if !h.admin() {
		return code(sim.NoPermission, "%s", sim.NoPermission.Words())
	}
	switch a.action {
	case "lgi":
		return a.listGIs(gpus, out)
	case "lci":
		return a.listCIs(gpus, out)
	}
	if err := h.m.Log(sim.Logged{Call: "nvidia-smi", Args: a.argv}); err != nil {
		return err
	}
	switch a.action {
	case "cgi":
		return a.createGIs(h, gpus, out)
	case "cci":
		return a.createCIs(h, gpus, out)
	case "dgi":
		return a.destroyGIs(h, gpus, out)
	}
	return a.destroyCIs(h, gpus, out)
}

// has reports whether ids, of which none means all, name id.
func has(ids []int, id int) bool { return len(ids) == 0 || slices.Contains(ids, id) }
