// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"github.com/cotenant-dev/cotenant/sharing"
)

// GPUs is the hardware. Calls may come from several goroutines.
type GPUs interface {
	// Look asks every GPU what it is. A GPU that does not answer is sick in the
	// result; an error means that the driver itself cannot be reached.
	Look(ctx context.Context) (sharing.Look, error)
	// Processes returns how many processes use the GPU at the PCI address.
	Processes(ctx context.Context, address string) (int, error)
}

// Specs are the CDI spec files of our kind, one a claim.
type Specs interface {
	// List returns the claim UIDs that have a file, readable or not.
	List() ([]string, error)
	// Write makes the file what the step says, and touches nothing if it is
	// that already. When it returns nil every device of the step resolves.
	Write(ctx context.Context, s sharing.WriteSpec) error
	// Remove makes sure that there is no file. A missing one is no error.
	Remove(claim string) error
}

// Records is the journal as the pipeline uses it. What returned nil is on disk.
type Records interface {
	// Claim returns the record of a claim, or false.
	Claim(uid string) (sharing.Record, bool, error)
	// Holds returns who holds the slots.
	Holds(slots ...string) ([]sharing.Hold, error)
	// Put stores a record and its holds in one transaction.
	Put(rec sharing.Record) error
	// Forget removes a record and its holds and sets up the fences, likewise.
	Forget(uid string, fences ...sharing.Fence) error
}

// Memory is the journal as recovery and observation use it: what the node knows
// beyond single claims.
type Memory interface {
	Claims() ([]sharing.Record, error)
	// Era returns the ids of boot and driver load under which claims were last
	// recorded.
	Era() (sharing.Era, error)
	// Turn forgets the records and notes the new era, in one transaction.
	Turn(e sharing.Era, forgotten []sharing.Record) error
	// Known and Remember keep names and facts of GPUs, by PCI address.
	Known() (map[string]sharing.Known, error)
	Remember(gpus []sharing.Known) error
	// Fences are the GPUs set apart, by PCI address.
	Fences() (map[string]sharing.Fence, error)
	Unfence(address string) error
	// Suspect says why every GPU is held, or "". Trust ends it and fences the
	// GPUs that stay in doubt.
	Suspect() (string, error)
	Trust(fences ...sharing.Fence) error
}
