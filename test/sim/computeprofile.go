// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
)

// ComputeProfile is one row of the table of compute instance profiles that a
// GPU instance has.
type ComputeProfile struct {
	ID     int // also the index: NVML_COMPUTE_INSTANCE_PROFILE_*
	Slices int // compute slices of the GPU instance
	Max    int // as many fit beside each other
	SMs    int
	// Listed only: the profile is in the table, making one is NOT_SUPPORTED.
	Listed bool
}

// ComputeProfileCount bounds the indexes of compute instance profiles (nvml.h,
// NVML_COMPUTE_INSTANCE_PROFILE_COUNT).
const ComputeProfileCount = 9

// Ids of compute instance profiles with something peculiar (nvml.h,
// NVML_COMPUTE_INSTANCE_PROFILE_*).
const (
	compute1SliceRev1 = 7
	compute7SliceNVL  = 8
)

// doubleMemory is the index of the profile of one slice with the memory of two
// (nvml.h, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2).
const doubleMemory = 9

// computeSizes are the sizes of compute instances by size of the GPU instance:
// those that nvidia-smi mig -lcip lists.
var computeSizes = map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 4}, 7: {1, 2, 3, 4, 7}}

// computeIDs are the ids by size (nvml.h).
var computeIDs = map[int]int{1: 0, 2: 1, 3: 2, 4: 3, 7: 4}

// ComputeProfiles are the compute instance profiles of a GPU instance of the
// profile pr, by id.
//
// Two sizes have a second profile. NVML lists that of one slice, and with newer
// drivers one of seven for parts with NVLink, beside the ordinary one; making
// the second is taken to fail, as reported for the latter. A GPU instance of
// double memory has the second one alone, as tools show on hardware.
func (p Product) ComputeProfiles(pr Profile) []ComputeProfile {
	var out []ComputeProfile
	for _, size := range computeSizes[pr.ComputeSlices] {
		out = append(out, ComputeProfile{ID: computeIDs[size], Slices: size, Max: pr.ComputeSlices / size, SMs: p.computeSMs(pr, size)})
	}
	second := ComputeProfile{ID: compute1SliceRev1, Slices: 1, Max: 1, SMs: pr.SMs, Listed: true}
	switch {
	case pr.Index == doubleMemory:
		second.Listed = false
		return []ComputeProfile{second}
	case pr.ComputeSlices == 1:
		return append(out, second)
	case pr.ComputeSlices == 7:
		return append(out, ComputeProfile{ID: compute7SliceNVL, Slices: 7, Max: 1, SMs: pr.SMs, Listed: true})
	}
	return out
}

// computeSMs is all of a GPU instance for a compute instance as large, else what
// as many instances of the smallest profile have together.
func (p Product) computeSMs(pr Profile, size int) int {
	smallest, ok := p.Profile(0)
	if size == pr.ComputeSlices || !ok {
		return pr.SMs
	}
	return size * smallest.SMs
}

// ComputeProfile finds a compute instance profile by id.
func (p Product) ComputeProfile(pr Profile, id int) (ComputeProfile, bool) {
	all := p.ComputeProfiles(pr)
	i := slices.IndexFunc(all, func(c ComputeProfile) bool { return c.ID == id })
	if i < 0 {
		return ComputeProfile{}, false
	}
	return all[i], true
}

// WholeCompute is the compute instance profile that takes all of a GPU instance.
func (p Product) WholeCompute(pr Profile) ComputeProfile {
	for _, c := range p.ComputeProfiles(pr) {
		if c.Slices == pr.ComputeSlices && !c.Listed {
			return c
		}
	}
	return ComputeProfile{}
}

// Starts are the compute slices at which an instance of the profile may begin:
// as many as fit beside each other. That it is so is not confirmed.
func (c ComputeProfile) Starts() []int {
	var out []int
	for n := range c.Max {
		out = append(out, n*c.Slices)
	}
	return out
}

// MIGName is what tools call a MIG device of the two profiles: "1g.10gb", or
// "1c.3g.40gb" when it is a part of its GPU instance.
func (pr Profile) MIGName(c ComputeProfile) string {
	if c.Slices == pr.ComputeSlices {
		return pr.Name
	}
	return fmt.Sprintf("%dc.%s", c.Slices, pr.Name)
}
