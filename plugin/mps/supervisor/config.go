// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"path/filepath"
	"time"
)

// Config is where everything is, and how long anything may take.
type Config struct {
	// Socket is where the node plugin asks.
	Socket string
	// Root is the directory of the daemons' directories, HostRoot where the host has
	// it.
	Root     string
	HostRoot string
	// Logs is the directory of the daemons' logs, which no tenant sees.
	Logs string
	// DriverRoot is where the driver's installation is.
	DriverRoot string
	// ShmSize bounds what a daemon's clients have at /dev/shm: tmpfs' size=, an
	// amount or a percentage of the memory.
	ShmSize string
	// Label is the SELinux label of both tmpfs where SELinux is on.
	Label   string
	Version string
	// Enter is the command line that calls Enter with the one argument that is added
	// to it.
	Enter []string
	Patience
}

// Patience is how long is waited for what. The zero value of a field stands for
// that of Standard.
type Patience struct {
	// Command bounds one command to a control daemon.
	Command time.Duration
	// Start is how long a daemon may take to answer at first before it is ended and
	// started anew; long, since a start that is cut short never comes to an end.
	Start time.Duration
	// Look is how often a daemon that serves is asked for its clients.
	Look time.Duration
	// Mute is how long a daemon may fail to answer before it is ended, and its
	// clients with it.
	Mute time.Duration
	// Quit is how long a daemon, and then its servers, may take to end.
	Quit time.Duration
	// Again is the wait before a daemon is started anew: the first, and the longest
	// to which it doubles.
	Again, AgainAtMost time.Duration
}

// Standard is the patience of a node that serves.
func Standard() Patience {
	return Patience{
		Command: 5 * time.Second, Start: 2 * time.Minute, Look: 5 * time.Second, Mute: time.Minute,
		Quit: 5 * time.Second, Again: 100 * time.Millisecond, AgainAtMost: 30 * time.Second,
	}
}

func (p Patience) orStandard() Patience {
	s := Standard()
	for _, f := range []struct{ have, standard *time.Duration }{
		{&p.Command, &s.Command}, {&p.Start, &s.Start}, {&p.Look, &s.Look}, {&p.Mute, &s.Mute},
		{&p.Quit, &s.Quit}, {&p.Again, &s.Again}, {&p.AgainAtMost, &s.AgainAtMost},
	} {
		if *f.have == 0 {
			*f.have = *f.standard
		}
	}
	return p
}

func (c Config) logs(id string) string { return filepath.Join(c.Logs, id) }
