// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Means are what a node has, besides its GPUs, for sharing them between claims.
type Means struct {
	// MPS is the supervisor of MPS control daemons.
	MPS Supervision
	// ContainerLimits: the driver can limit the memory of a container on this node.
	// Why not is in words.
	ContainerLimits   bool
	NoContainerLimits string
	// NoInterval is why the time-slice interval of a GPU cannot be set, by PCI
	// address. A GPU that is missing can.
	NoInterval map[string]string
}

const mebi = 1 << 20

// reserveShift: of the memory that is divided equally one 32nd is set aside for
// what the driver keeps for each context, which is charged to nobody.
const reserveShift = 5

// limitsFrom is the first CUDA version whose MPS limits memory (CUDA 11.5 release
// notes, pinned device memory limits).
var limitsFrom = version.MustParseGeneric("11.5.0")

// multiUserFrom is the first compute capability that MPS serves several users on.
var multiUserFrom = version.MustParseGeneric("7.0.0")

// divided returns the slot that an offer with sharing makes of the GPU, or why
// there is none.
func (d Device) divided(o v1alpha1.Offer, has Means) (Shared, error) {
	want := o.Sharing
	s := Shared{Offer: o.Name, Mode: want.Mode, Shares: int(want.Shares), Memory: MemoryUnlimited}
	if want.Shares < 2 || want.Shares > 48 {
		return s, fmt.Errorf("shares is %d; it must be 2 to 48", want.Shares)
	}
	var err error
	if s.MemoryMiB, err = d.perShare(want); err != nil {
		return s, err
	}
	switch want.Mode {
	case v1alpha1.TimeSlicing:
		err = d.timeSliced(&s, want.TimeSlicing, has)
	case v1alpha1.MPS:
		err = d.multiProcess(&s, want.MPS, has)
	default:
		err = fmt.Errorf("mode %q is unknown to this release", want.Mode)
	}
	if err != nil {
		return s, err
	}
	if s.MemoryMiB > 0 && has.ContainerLimits && d.MemoryLimits {
		s.Memory = MemoryPerContainer
	}
	for _, i := range o.Requires {
		if !s.reaches(i) {
			return s, fmt.Errorf("it requires %s, which is not reached here: %s", i, d.missing(i, s, has))
		}
	}
	return s, nil
}

// perShare is the memory of a share in MiB: what is asked for, or an equal part.
func (d Device) perShare(want *v1alpha1.OfferSharing) (int64, error) {
	total := d.MemoryBytes / mebi
	if want.MemoryPerShare == "" {
		return (total - total>>reserveShift) / int64(want.Shares), nil
	}
	q, err := resource.ParseQuantity(want.MemoryPerShare)
	if err != nil {
		return 0, fmt.Errorf("memoryPerShare %q: %w", want.MemoryPerShare, err)
	}
	each := q.Value() / mebi
	switch {
	case total == 0:
		return 0, fmt.Errorf("memoryPerShare is set, and %s tells no memory of its own", d.Product)
	case each < 1:
		return 0, fmt.Errorf("memoryPerShare %s is less than 1Mi", want.MemoryPerShare)
	case each > total/int64(want.Shares):
		return 0, fmt.Errorf("%d shares of %s are more than the %d MiB that %s has; at most %dMi fit", want.Shares, want.MemoryPerShare, total, d.Product, total/int64(want.Shares))
	}
	return each, nil
}

// timeSliced completes a slot whose sharers take turns.
func (d Device) timeSliced(s *Shared, want *v1alpha1.TimeSlicingSettings, has Means) error {
	if want == nil || want.Interval == "" {
		return nil
	}
	s.Interval = nvidia.Interval(want.Interval)
	if why := has.NoInterval[d.Address]; why != "" && s.Interval != nvidia.Default {
		return fmt.Errorf("the time-slice interval of %s cannot be set: %s; remove it from the offer, and processes take turns of the driver's own length", d.Product, why)
	}
	return nil
}

// multiProcess completes a slot whose sharers run under one MPS server. Who
// tells no percentage has the multiprocessors divided equally.
func (d Device) multiProcess(s *Shared, want *v1alpha1.MPSSettings, has Means) error {
	if !d.servesUsers() {
		return fmt.Errorf("MPS serves several tenants from compute capability 7.0 on; %s has %s", d.Product, d.ComputeCapability)
	}
	if has.MPS.Up && !has.MPS.MultiUser {
		return fmt.Errorf("the MPS control daemon of this driver cannot serve several users")
	}
	s.ActiveThreads = max(1, 100/s.Shares)
	if want != nil && want.ActiveThreadPercentage != nil {
		s.ActiveThreads = int(*want.ActiveThreadPercentage)
	}
	if s.MemoryMiB > 0 && d.limitsMemory() {
		s.Memory = MemoryPerProcess
	}
	return nil
}

// servesUsers says whether one MPS server can serve several users on the GPU.
func (d Device) servesUsers() bool {
	cc, err := version.ParseGeneric(d.ComputeCapability)
	return err == nil && cc.AtLeast(multiUserFrom)
}

// limitsMemory says whether the driver's MPS can limit memory.
func (d Device) limitsMemory() bool {
	cuda, err := version.ParseGeneric(d.CUDAVersion)
	return err == nil && cuda.AtLeast(limitsFrom)
}

// missing says why a kind of isolation is not reached.
func (d Device) missing(i v1alpha1.Isolation, s Shared, has Means) string {
	switch {
	case i == v1alpha1.IsolationFaultIsolation:
		return "sharers of a GPU share faults"
	case i == v1alpha1.IsolationComputeLimit && s.Mode == v1alpha1.MPS:
		return "activeThreadPercentage is 100"
	case i == v1alpha1.IsolationComputeLimit:
		return "processes that take turns have all multiprocessors"
	case s.MemoryMiB == 0:
		return fmt.Sprintf("%s tells no memory of its own", d.Product)
	case !has.ContainerLimits:
		return has.NoContainerLimits
	case !d.MemoryLimits:
		return fmt.Sprintf("driver %s has no memory limits for this GPU", d.DriverVersion)
	}
	return "the driver cannot limit it"
}
