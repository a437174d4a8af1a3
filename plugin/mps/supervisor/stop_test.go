// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/sharing"
)

// F41: what is missing already keeps nothing from being stopped.
func TestF41PartsAreMissing(t *testing.T) {
	gone := map[string]func(n *node, id string){
		"nothing":     func(*node, string) {},
		"the daemon":  func(n *node, id string) { ok(n.t, unix.Kill(n.control(id), unix.SIGKILL)) },
		"the server":  func(n *node, id string) { ok(n.t, unix.Kill(n.servers()[0].PID, unix.SIGKILL)) },
		"shm mount":   func(n *node, id string) { ok(n.t, unix.Unmount(mps.Shm(n.cfg.Root, id), 0)) },
		"pipe mount":  func(n *node, id string) { ok(n.t, unix.Unmount(n.pipe(id), unix.MNT_DETACH)) },
		"the sockets": func(n *node, id string) { ok(n.t, os.Remove(filepath.Join(n.pipe(id), "control"))) },
		"the logs":    func(n *node, id string) { ok(n.t, os.RemoveAll(filepath.Join(n.cfg.Logs, id))) },
		"all": func(n *node, id string) {
			ok(n.t, unix.Unmount(mps.Shm(n.cfg.Root, id), unix.MNT_DETACH))
			ok(n.t, unix.Unmount(n.pipe(id), unix.MNT_DETACH))
			ok(n.t, os.RemoveAll(filepath.Join(n.cfg.Root, id)))
			ok(n.t, os.RemoveAll(filepath.Join(n.cfg.Logs, id)))
		},
	}
	for name, take := range gone {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			// It is not to be mended before it is stopped.
			n.cfg.Look, n.cfg.Again = time.Hour, time.Hour
			n.start()
			d := n.quarter()
			n.ensure(d)
			take(n, d.ID)
			ok(t, n.client.Stop(t.Context(), d.ID))
			n.nothingLeft(d.ID)
			n.nothingRuns()
			ok(t, n.client.Stop(t.Context(), d.ID))
			if s := n.servers(); len(s) != 0 {
				t.Errorf("servers %+v", s)
			}
		})
	}
}

// F41: a mount that is busy fails the stop, each time, and the next one finishes.
func TestF41BusyTwice(t *testing.T) {
	n := newNode(t)
	first := n.process()
	d := n.quarter()
	n.ensure(d)
	busy, err := os.Create(filepath.Join(mps.Shm(n.cfg.Root, d.ID), "busy"))
	ok(t, err)
	defer busy.Close()
	for range 2 {
		says(t, n.client.Stop(t.Context(), d.ID), d.ID, "unmount", "busy")
		n.nothingRuns()
		st := n.state(d.ID, "is there", func(s mps.State) bool { return s.Why != "" })
		if st.Ready || !strings.Contains(st.Why, "busy") {
			t.Errorf("state %+v", st)
		}
	}
	// A supervisor that comes after it goes on with the stop.
	ok(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	n.process()
	n.state(d.ID, "is still there", func(s mps.State) bool { return strings.Contains(s.Why, "busy") })
	ok(t, busy.Close())
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
}

// What could not be stopped can be wanted again, in another way, too.
func TestWantedAgainAfterFailedStop(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	busy, err := os.Create(filepath.Join(mps.Shm(n.cfg.Root, d.ID), "busy"))
	ok(t, err)
	defer busy.Close()
	says(t, n.client.Stop(t.Context(), d.ID), "busy")
	n.ensure(sharing.Daemon{ID: d.ID, UUIDs: n.uuids, MultiUser: true})
	if s := n.servers(); len(s) != 1 || len(s[0].Devices) != 2 {
		t.Errorf("servers %+v", s)
	}
	ok(t, busy.Close())
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
}

// Something else in a daemon's place is not taken away.
func TestForeignMount(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	shm := mps.Shm(n.cfg.Root, d.ID)
	ok(t, os.MkdirAll(shm, 0o755))
	ok(t, unix.Mount("somebody", shm, "tmpfs", 0, ""))
	err := n.client.Ensure(t.Context(), d)
	says(t, err, "tmpfs of somebody is mounted at "+shm)
}

// A pause lets go of the GPUs and stays over a restart; after it everything runs
// as before.
func TestPause(t *testing.T) {
	n := newNode(t)
	first := n.process()
	d := n.quarter()
	n.ensure(d)
	inodes := n.inodes(d.ID)
	ok(t, n.client.Pause(t.Context(), "driver upgrade"))
	n.nothingRuns()
	if s := n.servers(); len(s) != 0 {
		t.Errorf("servers %+v", s)
	}
	st := n.state(d.ID, "is broken", func(s mps.State) bool { return !s.Ready })
	if !strings.Contains(st.Why, "paused: driver upgrade") || st.BrokenSince == nil || st.Restarts == 0 {
		t.Errorf("state %+v", st)
	}
	other := sharing.Daemon{ID: "gpu-1-half", UUIDs: n.uuids[1:], MultiUser: true}
	err := n.client.Ensure(t.Context(), other)
	if says(t, err, other.ID, "paused: driver upgrade", "cotenant-mps resume"); api.ReasonOf(err) != api.Unavailable {
		t.Errorf("reason %q", api.ReasonOf(err))
	}
	ok(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	n.process()
	n.state(d.ID, "is paused", func(s mps.State) bool { return strings.Contains(s.Why, "paused") })
	n.nothingRuns()
	h, err := n.client.Hello(t.Context())
	ok(t, err)
	if !strings.Contains(h.Unable, "driver upgrade") {
		t.Errorf("able: %+v", h)
	}
	ok(t, n.client.Resume(t.Context()))
	n.state(d.ID, "serves", func(s mps.State) bool { return s.Ready })
	n.serves(d)
	n.ensure(other)
	control := n.control(d.ID)
	ok(t, n.client.Resume(t.Context()))
	if now := n.control(d.ID); now != control {
		t.Error("a second resume started it anew")
	}
	if now := n.inodes(d.ID); now != inodes {
		t.Errorf("inodes %v became %v", inodes, now)
	}
}

// A paused daemon can be stopped.
func TestStopWhilePaused(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	ok(t, n.client.Pause(t.Context(), "driver upgrade"))
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
	ok(t, n.client.Resume(t.Context()))
}
