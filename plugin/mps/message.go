// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"slices"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// Protocol is what this release speaks.
const Protocol = 1

// MaxBody is how long a request's body may be, in bytes.
const MaxBody = 64 << 10

// Longest is how long a question is kept waiting before it is answered that
// there is nothing new: for a list, and for a daemon that does not serve yet.
const Longest = 30 * time.Second

// Hello says who the supervisor is and what it is able to do.
type Hello struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// Instance is another one after each start of the supervisor.
	Instance string `json:"instance"`
	// MultiUser: its daemons can serve several users at a time.
	MultiUser bool `json:"multiUser"`
	// Root is where the host has the directories of the daemons.
	Root string `json:"root"`
	// Unable says why it cannot run daemons, or "".
	Unable string `json:"unable,omitempty"`
	// DriverVersion is that of the driver in the driver root, if it could be told.
	DriverVersion string `json:"driverVersion,omitempty"`
	// Notes are what an operator should know, such as a file that was set aside.
	Notes []string `json:"notes,omitempty"`
}

// Settings are those of one daemon. They do not change while it is wanted.
type Settings struct {
	// UUIDs are its devices, sorted; a limit belongs to a position in them.
	UUIDs []string `json:"uuids"`
	// ActiveThreadPercentage is 1 to 100; 0 sets none.
	ActiveThreadPercentage int `json:"activeThreadPercentage,omitempty"`
	// PinnedMemoryMiB is by position; 0 sets no limit.
	PinnedMemoryMiB []int64 `json:"pinnedMemoryMiB,omitempty"`
	MultiUser       bool    `json:"multiUser,omitempty"`
}

// Equal says whether a daemon with either settings does the same.
func (s Settings) Equal(o Settings) bool {
	return slices.Equal(s.UUIDs, o.UUIDs) && s.ActiveThreadPercentage == o.ActiveThreadPercentage &&
		slices.Equal(s.pinned(), o.pinned()) && s.MultiUser == o.MultiUser
}

// pinned has an entry for each device.
func (s Settings) pinned() []int64 {
	out := make([]int64, max(len(s.UUIDs), len(s.PinnedMemoryMiB)))
	copy(out, s.PinnedMemoryMiB)
	return out
}

// State is how a wanted daemon is.
type State struct {
	Settings Settings `json:"settings"`
	// Ready: it serves, and its limits were read back.
	Ready bool `json:"ready"`
	// Why it is not ready, or why it was last restarted.
	Why string `json:"why,omitempty"`
	// BrokenSince is when it stopped serving; nil while it serves and before it
	// first did.
	BrokenSince *time.Time `json:"brokenSince,omitempty"`
	// Restarts counts its starts but the first.
	Restarts int `json:"restarts"`
	// Clients is how many processes were connected at the last look.
	Clients int `json:"clients"`
}

// List is all the supervisor has to tell, as of a revision.
type List struct {
	Revision string           `json:"revision"`
	Hello    Hello            `json:"hello"`
	Daemons  map[string]State `json:"daemons"`
}

// Pause says why the GPUs are let go of.
type Pause struct {
	Why string `json:"why"`
}

// Problem is why a request failed.
type Problem struct {
	// Reason is "" for what may succeed when it is tried again.
	Reason  api.Reason `json:"reason,omitempty"`
	Message string     `json:"message"`
}

func settingsOf(d sharing.Daemon) Settings {
	return Settings{UUIDs: d.UUIDs, ActiveThreadPercentage: d.ActiveThreads, PinnedMemoryMiB: d.PinnedMiB, MultiUser: d.MultiUser}
}

func supervisionOf(l List) sharing.Supervision {
	s := sharing.Supervision{Up: l.Hello.Unable == "", Why: l.Hello.Unable, MultiUser: l.Hello.MultiUser, Version: l.Hello.Version, Root: l.Hello.Root, Daemons: map[string]sharing.DaemonState{}}
	for id, d := range l.Daemons {
		state := sharing.DaemonState{Ready: d.Ready, Why: d.Why, Restarts: d.Restarts, Clients: d.Clients}
		if d.BrokenSince != nil {
			state.BrokenSince = d.BrokenSince.Unix()
		}
		s.Daemons[id] = state
	}
	return s
}
