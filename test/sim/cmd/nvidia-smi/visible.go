// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nodes"
)

// gpu is a GPU as this container sees it.
type gpu struct {
	sim.GPU
	product sim.Product
	index   int // among the visible ones, as NVML counts
	migs    []mig
}

// mig is a MIG device as this container sees it.
type mig struct{ name, uuid string }

// visible are the GPUs whose device node may be opened here.
func visible(s sim.State, dev nodes.Dev) []gpu {
	var out []gpu
	for _, g := range s.GPUs {
		p, err := sim.LookupProduct(g.Product)
		if err == nil && dev.GPU(g) {
			out = append(out, gpu{g, p, len(out), visibleMIG(g, p, dev)})
		}
	}
	return out
}

// visibleMIG are the MIG devices of which the nodes of both instances may be
// opened here, in the order of their indexes.
func visibleMIG(g sim.GPU, p sim.Product, dev nodes.Dev) []mig {
	var out []mig
	for index := range p.MaxMIGDevices() {
		gi, ci := g.MIGDevice(index)
		if ci == nil || !dev.MIG(g, *gi, *ci) {
			continue
		}
		pr, _ := p.ProfileByID(gi.ProfileID)
		c, _ := p.ComputeProfile(pr, ci.ProfileID)
		out = append(out, mig{pr.MIGName(c), ci.UUID})
	}
	return out
}

// selected are the GPUs that ids name, by index, UUID or PCI address; all for none.
func selected(all []gpu, ids []string) ([]gpu, error) {
	out := slices.DeleteFunc(slices.Clone(all), func(g gpu) bool {
		return len(ids) > 0 && !slices.ContainsFunc(ids, g.is)
	})
	if len(out) == 0 {
		return nil, failure{exitNotFound, "No devices were found"}
	}
	return out, nil
}

// wholeGPUs refuses ids of MIG devices: nothing here is about one.
func wholeGPUs(all []gpu, ids []string) error {
	for _, g := range all {
		for _, m := range g.migs {
			if slices.Contains(ids, m.uuid) {
				return code(sim.NotSupported, "MIG device %s: %s", m.uuid, sim.NotSupported.Words())
			}
		}
	}
	return nil
}

func (g gpu) is(id string) bool {
	return id == strconv.Itoa(g.index) || id == g.UUID ||
		strings.EqualFold(id, g.PCI) || strings.EqualFold(id, g.busID())
}

// busID is the address with 8 digits of domain, in upper case.
func (g gpu) busID() string { return "0000" + strings.ToUpper(g.PCI) }

// lost is what the tool says of a GPU off the bus.
func (g gpu) lost() error {
	return failure{exitGPUIsLost, fmt.Sprintf(
		"Unable to determine the device handle for GPU %s: GPU is lost.  Reboot the system to recover this GPU", strings.ToUpper(g.PCI))}
}
