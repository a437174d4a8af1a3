// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

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
