// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"
)

// Options are the ways in which machines differ that is no matter of GPUs: what
// real drivers and hypervisors are known to differ in, and counter-modes, under
// which nothing holds that a driver does not promise.
type Options struct {
	// IDs is IDsPositional or IDsRandom.
	IDs string `json:"ids,omitempty"`
	// UUIDs is UUIDsReused or UUIDsFresh.
	UUIDs string `json:"uuids,omitempty"`
	// ResetForbidden: no GPU can be reset, as in a VM whose hypervisor forbids it.
	ResetForbidden bool `json:"resetForbidden,omitempty"`
	// Linger is how long what a workload was on stays IN_USE after its end;
	// nanoseconds in JSON.
	Linger time.Duration `json:"linger,omitempty"`
	// VolatileTimeSlice: a GPU's time-slice is the default again when the last
	// process has left it and persistence mode is off.
	VolatileTimeSlice bool `json:"volatileTimeSlice,omitempty"`
	// MPSIgnoresUUIDs: a memory limit that an MPS control daemon is given by a
	// device's UUID is kept and has no effect; one by its position has.
	MPSIgnoresUUIDs bool `json:"mpsIgnoresUUIDs,omitempty"`
}

// How GPU instances and compute instances are numbered, and whether the same
// partition made again has the same UUID.
const (
	IDsPositional = ""       // by placement, as drivers do
	IDsRandom     = "random" // following from nothing
	UUIDsReused   = ""       // by GPU and ids, as drivers seem to do
	UUIDsFresh    = "fresh"  // never the same again
)

func (c Config) options() Options {
	return Options{IDs: c.IDs, UUIDs: c.UUIDs, ResetForbidden: c.ResetForbidden, Linger: c.Linger,
		VolatileTimeSlice: c.VolatileTimeSlice, MPSIgnoresUUIDs: c.MPSIgnoresUUIDs}
}

func (o Options) check() error {
	switch {
	case o.IDs != IDsPositional && o.IDs != IDsRandom:
		return fmt.Errorf("ids %q: want %q, or nothing for those that follow from the placement", o.IDs, IDsRandom)
	case o.UUIDs != UUIDsReused && o.UUIDs != UUIDsFresh:
		return fmt.Errorf("uuids %q: want %q, or nothing for those that are used again", o.UUIDs, UUIDsFresh)
	case o.Linger < 0:
		return fmt.Errorf("linger %s is negative: want how long a workload that has ended stays in the way", o.Linger)
	}
	return nil
}
