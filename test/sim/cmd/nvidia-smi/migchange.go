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

// createGIs is -cgi. It stops at the first that fails; what it made stays.
func (a migArgs) createGIs(h *host, gpus []gpu, out io.Writer) error {
	for _, g := range gpus {
		for _, spec := range a.profiles {
			gi, c := h.createGI(g, spec)
			if c != sim.Success {
				return code(c, "Unable to create a GPU instance on GPU %2d using profile %s: %s\nFailed to create GPU instances: %[3]s", g.index, spec, c.Words())
			}
			pr, _ := g.product.ProfileByID(gi.ProfileID)
			fmt.Fprintf(out, "Successfully created GPU instance ID %2d on GPU %2d using profile MIG %s (ID %2d)\n", gi.ID, g.index, pr.Name, pr.ID)
			if !a.withCI {
				continue
			}
			if err := createCI(h, g, gi, g.product.WholeCompute(pr).ID, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// createGI makes what spec says: a profile by name or id, and after a colon a start.
func (h *host) createGI(g gpu, spec string) (made sim.GPUInstance, c sim.Code) {
	profile, at, placed := strings.Cut(spec, ":")
	i := slices.IndexFunc(g.product.Profiles, func(pr sim.Profile) bool {
		return pr.Name == strings.TrimPrefix(profile, "MIG ") || strconv.Itoa(pr.ID) == profile
	})
	start, err := strconv.Atoi(at)
	if i < 0 || placed && err != nil {
		return made, sim.InvalidArgument
	}
	call := sim.Call{Name: "nvmlDeviceCreateGpuInstance", UUID: g.UUID}
	var where *int
	if placed {
		call.Name += "WithPlacement"
		where = &start
	}
	c = h.change(call, func(s *sim.State, now *sim.GPU) sim.Code {
		gi, c := s.CreateGI(now, g.product.Profiles[i].ID, where)
		if c == sim.Success {
			made = *gi
		}
		return c
	})
	return made, c
}

// createCIs is -cci. Without profiles it makes the one that takes all.
func (a migArgs) createCIs(h *host, gpus []gpu, out io.Writer) error {
	return a.each(gpus, every, func(g gpu, gi sim.GPUInstance) error {
		pr, _ := g.product.ProfileByID(gi.ProfileID)
		if len(a.profiles) == 0 {
			return createCI(h, g, gi, g.product.WholeCompute(pr).ID, out)
		}
		for _, spec := range a.profiles {
			id := slices.IndexFunc(g.product.ComputeProfiles(pr), func(c sim.ComputeProfile) bool {
				return strconv.Itoa(c.ID) == spec || pr.MIGName(c) == spec
			})
			if id < 0 {
				return code(sim.InvalidArgument, "Unable to create a compute instance on GPU %2d GPU instance ID %2d using profile %s: %s\nFailed to create compute instances: %[4]s",
					g.index, gi.ID, spec, sim.InvalidArgument.Words())
			}
			if err := createCI(h, g, gi, g.product.ComputeProfiles(pr)[id].ID, out); err != nil {
				return err
			}
		}
		return nil
	})
}

func createCI(h *host, g gpu, gi sim.GPUInstance, profile int, out io.Writer) error {
	pr, _ := g.product.ProfileByID(gi.ProfileID)
	made := -1
	c := h.change(sim.Call{Name: "nvmlGpuInstanceCreateComputeInstance", UUID: g.UUID}, func(s *sim.State, now *sim.GPU) sim.Code {
		in, _ := now.Made(gi.Seq)
		if in == nil {
			return sim.InvalidArgument
		}
		ci, c := s.CreateCI(now, in, profile, nil)
		if c == sim.Success {
			made = ci.ID
		}
		return c
	})
	if c != sim.Success {
		return code(c, "Unable to create a compute instance on GPU %2d GPU instance ID %2d using profile %d: %s\nFailed to create compute instances: %[4]s",
			g.index, gi.ID, profile, c.Words())
	}
	cp, _ := g.product.ComputeProfile(pr, profile)
	fmt.Fprintf(out, "Successfully created compute instance ID %2d on GPU %2d GPU instance ID %2d using profile MIG %s (ID %2d)\n",
		made, g.index, gi.ID, pr.MIGName(cp), profile)
	return nil
}

// each calls f on the GPU instances that the command line names and in which
// there is what it is about, and fails where there is none.
func (a migArgs) each(gpus []gpu, concerns func(sim.GPUInstance) bool, f func(gpu, sim.GPUInstance) error) error {
	named, concerned := 0, 0
	for _, g := range gpus {
		for _, gi := range inOrder(g.GIs) {
			if !has(a.gis, gi.ID) {
				continue
			}
			named++
			if !concerns(gi) {
				continue
			}
			concerned++
			if err := f(g, gi); err != nil {
				return err
			}
		}
	}
	switch {
	case named == 0:
		return none("GPU")
	case concerned == 0:
		return none("compute")
	}
	return nil
}

func every(sim.GPUInstance) bool { return true }

// destroyGIs is -dgi.
func (a migArgs) destroyGIs(h *host, gpus []gpu, out io.Writer) error {
	return a.each(gpus, every, func(g gpu, gi sim.GPUInstance) error {
		c := h.change(sim.Call{Name: "nvmlGpuInstanceDestroy", UUID: g.UUID}, func(s *sim.State, now *sim.GPU) sim.Code {
			in, _ := now.Made(gi.Seq)
			if in == nil {
				return sim.InvalidArgument
			}
			return s.DestroyGI(now, in)
		})
		if c != sim.Success {
			return code(c, "Unable to destroy GPU instance ID %2d from GPU %2d: %s\nFailed to destroy GPU instances: %[3]s", gi.ID, g.index, c.Words())
		}
		fmt.Fprintf(out, "Successfully destroyed GPU instance ID %2d from GPU %2d\n", gi.ID, g.index)
		return nil
	})
}

// destroyCIs is -dci.
func (a migArgs) destroyCIs(h *host, gpus []gpu, out io.Writer) error {
	named := func(ci sim.ComputeInstance) bool { return has(a.cis, ci.ID) }
	concerns := func(gi sim.GPUInstance) bool { return slices.ContainsFunc(gi.CIs, named) }
	return a.each(gpus, concerns, func(g gpu, gi sim.GPUInstance) error {
		for _, ci := range gi.CIs {
			if !named(ci) {
				continue
			}
			if c := h.destroyCI(g, ci); c != sim.Success {
				return code(c, "Unable to destroy compute instance ID %2d from GPU %2d GPU instance ID %2d: %s\nFailed to destroy compute instances: %[4]s",
					ci.ID, g.index, gi.ID, c.Words())
			}
			fmt.Fprintf(out, "Successfully destroyed compute instance ID %2d from GPU %2d GPU instance ID %2d\n", ci.ID, g.index, gi.ID)
		}
		return nil
	})
}

// destroyCI is nvmlComputeInstanceDestroy.
func (h *host) destroyCI(g gpu, ci sim.ComputeInstance) sim.Code {
	return h.change(sim.Call{Name: "nvmlComputeInstanceDestroy", UUID: g.UUID}, func(s *sim.State, now *sim.GPU) sim.Code {
		in, what := now.Made(ci.Seq)
		if what == nil {
			return sim.InvalidArgument
		}
		return s.DestroyCI(now, in, what)
	})
}
