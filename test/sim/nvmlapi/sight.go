// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// place is what a handle stands for: a GPU, or on it an instance by the number
// it was made with. The number is not given twice, so a handle to an instance
// that was destroyed is stale although its id is in use again.
type place struct {
	uuid string // of the GPU
	seq  uint64 // of the instance, 0 for the GPU itself
}

// sight is what a call sees: the state, and in it what its handle stands for.
type sight struct {
	*sim.State
	gpu     *sim.GPU
	product sim.Product
	gi      *sim.GPUInstance     // nil on a GPU
	ci      *sim.ComputeInstance // nil on a GPU and on a GPU instance
}

// ask answers a call on a handle that changes nothing.
func ask[T any](r refuser, name string, f func(sight) (T, nvml.Return)) (v T, ret nvml.Return) {
	ret = nvml.Return(r.lib.m.Query(sim.Call{Name: name, UUID: r.at.uuid}, r.look(name, func(see sight) (ret nvml.Return) {
		v, ret = f(see)
		return ret
	})))
	return onSuccess(v, ret)
}

// tell answers a call on a handle that changes the machine, which root alone may
// do; the change is kept on SUCCESS.
func tell[T any](r refuser, name string, f func(sight) (T, nvml.Return)) (v T, ret nvml.Return) {
	ret = nvml.Return(r.lib.m.Change(sim.Call{Name: name, UUID: r.at.uuid}, r.look(name, func(see sight) (ret nvml.Return) {
		if r.lib.uid != 0 {
			return nvml.ERROR_NO_PERMISSION
		}
		v, ret = f(see)
		return ret
	})))
	return onSuccess(v, ret)
}

// onSuccess keeps what a call gathered from getting out when a fault or a failed
// write made it fail after all.
func onSuccess[T any](v T, ret nvml.Return) (T, nvml.Return) {
	if ret != nvml.SUCCESS {
		var none T
		return none, ret
	}
	return v, ret
}

// look makes the checks of every call on a handle, then calls f.
func (r refuser) look(name string, f func(sight) nvml.Return) func(*sim.State) sim.Code {
	return func(s *sim.State) sim.Code {
		mustHave(r.lib, s, name)
		if !r.lib.initialized(s) {
			return sim.Uninitialized
		}
		g := s.GPU(r.at.uuid)
		if g == nil {
			return sim.InvalidArgument // a handle to what is not there any more
		}
		if g.Lost {
			return sim.GPUIsLost
		}
		p, err := sim.LookupProduct(g.Product)
		if err != nil {
			return sim.Unknown
		}
		see := sight{State: s, gpu: g, product: p}
		if r.at.seq != 0 {
			if see.gi, see.ci = g.Made(r.at.seq); see.gi == nil {
				return sim.InvalidArgument
			}
		}
		return sim.Code(f(see))
	}
}

// profile is the one of the GPU instance in sight.
func (see sight) profile() sim.Profile {
	pr, _ := see.product.ProfileByID(see.gi.ProfileID) // Check keeps others out
	return pr
}

// computeProfile is the one of the compute instance in sight.
func (see sight) computeProfile() sim.ComputeProfile {
	c, _ := see.product.ComputeProfile(see.profile(), see.ci.ProfileID)
	return c
}
