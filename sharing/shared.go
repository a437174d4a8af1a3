// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Shared is what a whole GPU is as a slot that several claims have at a time, in
// shares of one size. It never changes while the slot is published.
type Shared struct {
	// Offer is the name of the policy's offer.
	Offer string
	Mode  v1alpha1.SharingMode
	// Shares is how many there are.
	Shares int
	// MemoryMiB is the memory of a share; 0 where the GPU tells none of its own.
	MemoryMiB int64
	// ActiveThreads is the percentage of the multiprocessors that each process of a
	// share may use; 0 in mode TimeSlicing.
	ActiveThreads int
	// Interval is how long a sharer runs before the next one does; "" leaves it as
	// it is, and in mode MPS there is none.
	Interval nvidia.Interval
	// Memory says how the memory of a share is limited.
	Memory MemoryLimit
}

// MemoryLimit is a facet of isolation: what keeps a sharer to its memory.
type MemoryLimit string

const (
	// MemoryUnlimited: nothing does; the size of a share is what it is counted as.
	MemoryUnlimited MemoryLimit = "none"
	// MemoryPerProcess: MPS limits each process, and a share may have several.
	MemoryPerProcess MemoryLimit = "process"
	// MemoryPerContainer: the driver limits each container by its cgroup.
	MemoryPerContainer MemoryLimit = "container"
)

// ComputeLimit is a facet of isolation: what keeps a sharer to its
// multiprocessors.
type ComputeLimit string

const (
	// ComputeUnlimited: nothing does.
	ComputeUnlimited ComputeLimit = "none"
	// ComputeCeiling: no process uses more than its percentage; nothing is reserved.
	ComputeCeiling ComputeLimit = "ceiling"
)

// FaultsShared is the third facet, and the same for all sharers of a GPU: a fault
// of one may end the others.
const FaultsShared = "shared"

// Compute is the facet of the same name.
func (s Shared) Compute() ComputeLimit {
	if s.Mode == v1alpha1.MPS && s.ActiveThreads < 100 {
		return ComputeCeiling
	}
	return ComputeUnlimited
}

// reaches says whether the slot has one of the kinds of isolation that an offer
// may require.
func (s Shared) reaches(i v1alpha1.Isolation) bool {
	switch i {
	case v1alpha1.IsolationMemoryLimit:
		return s.Memory != MemoryUnlimited
	case v1alpha1.IsolationComputeLimit:
		return s.Compute() != ComputeUnlimited
	}
	return false
}

// fingerprint tells these settings from others of the same offer, in four hex
// digits. It is a part of device names and must not change from release to
// release.
func (s Shared) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{
		s.Offer, string(s.Mode), fmt.Sprint(s.Shares), fmt.Sprint(s.MemoryMiB), fmt.Sprint(s.ActiveThreads),
		string(s.Interval), string(s.Memory),
	}, "\x00")))
	return hex.EncodeToString(sum[:2])
}

// mps are the limits of the daemon that serves the slot.
func (s Shared) mps() nvidia.MPS {
	m := nvidia.MPS{ActiveThreads: &s.ActiveThreads, MultiUser: true}
	if s.MemoryMiB > 0 {
		m.Memory = &nvidia.Limit{MiB: s.MemoryMiB, Quantity: fmt.Sprintf("%dMi", s.MemoryMiB)}
	}
	return m
}
