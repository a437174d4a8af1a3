// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "slices"

// Daemon is an MPS control daemon as it is wanted: one for a shared slot, or for
// the devices of a claim that share one configuration.
type Daemon struct {
	// ID names it on the node, and is a part of paths: a slot's name, or made of a
	// claim's UID.
	ID string
	// UUIDs are those of its GPUs or MIG devices, sorted: the daemon knows them by
	// position.
	UUIDs []string
	// ActiveThreads is the percentage of the multiprocessors that each client
	// process may use; 0 sets none.
	ActiveThreads int
	// PinnedMiB is how much memory each client process may have on the device of
	// the same position, in MiB; 0 sets no limit.
	PinnedMiB []int64
	// MultiUser: processes of several users are served at a time.
	MultiUser bool
}

// Supervision is what the supervisor of the node's daemons tells.
type Supervision struct {
	// Up: it answers and is able to run daemons.
	Up bool
	// Why not, or "".
	Why string
	// MultiUser: its daemons can serve several users at a time.
	MultiUser bool
	Version   string
	// Root is the directory of its daemons' directories as the host has it; "" if it
	// does not say.
	Root string
	// Daemons are those that are wanted, by ID.
	Daemons map[string]DaemonState
}

// DaemonState is how a daemon is.
type DaemonState struct {
	// Ready: it serves, with the limits that it is to have.
	Ready bool
	// BrokenSince is when it ceased to serve, in seconds since 1970; 0 while it serves,
	// and while it is started for its first client.
	BrokenSince int64
	// Why it is not ready, or why it was last restarted.
	Why string
	// Restarts counts how often it was started anew since it was first wanted.
	Restarts int
	// Clients is how many processes are connected.
	Clients int
}

// Served is a device that an MPS daemon serves.
type Served struct {
	Address string
	// UUID is the GPU's. That of a partition is among the facts of Slot.
	UUID string
	Slot string
	// MemoryMiB is how much memory it has; 0 when it tells none.
	MemoryMiB int64
}

// GPUs returns the addresses of the devices, each once.
func (s StartMPS) GPUs() []string {
	var out []string
	for _, d := range s.Devices {
		if !slices.Contains(out, d.Address) {
			out = append(out, d.Address)
		}
	}
	return out
}

// Wanted is the daemon that the step starts, when the partitions among its devices
// have these facts.
func (s StartMPS) Wanted(facts Facts) (Daemon, error) {
	d := Daemon{ID: s.Daemon, MultiUser: s.Limits.MultiUser}
	total := map[string]int64{}
	for _, served := range s.Devices {
		uuid := served.UUID
		if served.Slot != "" {
			uuid = facts[served.Slot].UUID
		}
		d.UUIDs = append(d.UUIDs, uuid)
		total[uuid] = served.MemoryMiB
	}
	slices.Sort(d.UUIDs)
	if s.Limits.ActiveThreads != nil {
		d.ActiveThreads = *s.Limits.ActiveThreads
	}
	pinned, err := s.Limits.Pinned(d.UUIDs, total)
	if err != nil {
		return Daemon{}, err
	}
	d.PinnedMiB = make([]int64, len(d.UUIDs))
	for _, p := range pinned {
		d.PinnedMiB[p.Position] = p.MiB
	}
	return d, nil
}
