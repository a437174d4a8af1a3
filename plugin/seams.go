// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// GPUs is the hardware. Calls may come from several goroutines.
type GPUs interface {
	// Look asks every GPU what it is. A GPU that does not answer is sick in the
	// result; an error means that the driver itself cannot be reached.
	Look(ctx context.Context) (sharing.Look, error)
	// Processes returns how many processes use the GPU at the PCI address.
	Processes(ctx context.Context, address string) (int, error)

	// ComputeMode returns the compute mode of the GPU; SetComputeMode makes it another
	// one. api.Unsupported: it has none now, as when MIG mode is on.
	ComputeMode(ctx context.Context, address string) (sharing.ComputeMode, error)
	SetComputeMode(ctx context.Context, address string, mode sharing.ComputeMode) error

	// SwitchMIG makes the MIG mode of the GPU what is asked, and returns nil only
	// when it is that. api.Held: it has instances, and so is not switched off.
	// api.InUse: something uses the GPU. api.NeedsReset: it would take effect at a
	// reset; nothing is left pending.
	SwitchMIG(ctx context.Context, address string, on bool) error
	// Instance returns the GPU instance that is exactly this partition.
	Instance(ctx context.Context, address string, p mig.Partition) (sharing.Instance, bool, error)
	// CreateGPUInstance makes the partition's GPU instance and returns its id.
	CreateGPUInstance(ctx context.Context, address string, p mig.Partition) (int, error)
	// CreateComputeInstance makes the compute instance that has all of the GPU
	// instance with this id, and returns the instance.
	CreateComputeInstance(ctx context.Context, address string, gi int) (sharing.Fact, error)
	// DestroyInstance destroys the GPU instance with this id and what is in it.
	// api.InUse: a process, or a monitor, still has it open.
	DestroyInstance(ctx context.Context, address string, gi int) error
}

// Intervals are the time-slice intervals of GPUs, by UUID. api.Unsupported: the GPU
// has none.
type Intervals interface {
	// Supports returns nil when the GPU's can be set, as far as is known. It is asked
	// often, and looks once for each load of the driver.
	Supports(ctx context.Context, uuid string) error
	Interval(ctx context.Context, uuid string) (nvidia.Interval, error)
	SetInterval(ctx context.Context, uuid string, i nvidia.Interval) error
}

// Daemons are the node's MPS control daemons, by way of the program that supervises
// them.
type Daemons interface {
	// Ensure has the daemon run, and returns nil once it serves within its limits. It
	// does nothing if it does already. api.Pending: it does not serve yet, and asking
	// again joins its start. api.Unavailable: the supervisor does not answer.
	Ensure(ctx context.Context, d sharing.Daemon) error
	// Stop ends a daemon; one that is not there is no error. api.InUse: it has clients.
	Stop(ctx context.Context, id string) error
	// Watch calls changed with the state at first and whenever it changes, until the
	// context ends.
	Watch(ctx context.Context, changed func(sharing.Supervision))
}

// Specs are the CDI spec files of our kind, one a claim.
type Specs interface {
	// List returns the claim UIDs that have a file, readable or not.
	List() ([]string, error)
	// Write makes the file what the step says of partitions with these facts, and
	// touches nothing if it is that already. When it returns nil every device of
	// the step resolves.
	Write(ctx context.Context, s sharing.WriteSpec, facts sharing.Facts) error
	// Trace returns what was done for a claim, as its file tells. For a claim without
	// a file it is nothing.
	Trace(claim string) (sharing.Trace, error)
	// Remove makes sure that there is no file. A missing one is no error.
	Remove(claim string) error
}

// Records is the journal as the pipeline uses it. What returned nil is on disk.
type Records interface {
	// Claim returns the record of a claim, or false.
	Claim(uid string) (sharing.Record, bool, error)
	// Holds returns who holds the GPUs with these names or any part of them.
	Holds(gpus ...string) ([]sharing.Hold, error)
	// Put stores a record and its holds in one transaction.
	Put(rec sharing.Record) error
	// Forget removes a record and its holds and sets up the fences, likewise. What
	// is still owed, if it has steps, is recorded in its place.
	Forget(owed sharing.Record, fences ...sharing.Fence) error
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
	// Listed returns what is published of the GPUs, by PCI address; List replaces
	// it for those that are named.
	Listed() (map[string][]sharing.Listed, error)
	List(slots map[string][]sharing.Listed) error
	// Suspect says why every GPU is held, or "". Trust ends it and fences the
	// GPUs that stay in doubt.
	Suspect() (string, error)
	Trust(fences ...sharing.Fence) error
}

// Kinds are our own objects in the API server.
type Kinds interface {
	// WatchPolicies calls changed with all SharingPolicies, at first and whenever
	// one changes, until the context ends. A cluster that does not have the kind
	// has no policies.
	WatchPolicies(ctx context.Context, changed func([]v1alpha1.SharingPolicy))
	// Report makes the status of the node's GPUNode what it is given.
	Report(ctx context.Context, node string, s v1alpha1.GPUNodeStatus) error
}
