// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/sharing"
	simmps "github.com/cotenant-dev/cotenant/test/sim/mps"
)

// When Ensure returns, a daemon for several users has its server on the GPU, and a
// client gets the limits.
func TestEnsure(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	servers := n.servers()
	if len(servers) != 1 || servers[0].Devices[0] != d.UUIDs[0] {
		t.Fatalf("servers %+v", servers)
	}
	st := n.state(d.ID, "is ready", func(s mps.State) bool { return s.Ready })
	if st.Restarts != 0 || st.Why != "" || st.BrokenSince != nil {
		t.Errorf("state %+v", st)
	}
	c, err := simmps.Dial(n.pipe(d.ID), simmps.Join{Devices: d.UUIDs})
	ok(t, err)
	defer c.Close()
	if g := c.Grants; len(g) != 1 || g[0].LimitMiB != 18432 || g[0].ThreadPercentage != 25 {
		t.Errorf("granted %+v", g)
	}
	n.state(d.ID, "has a client", func(s mps.State) bool { return s.Clients == 1 })
}

// A second call changes nothing, and one with other settings is refused.
func TestEnsureAgain(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	before := n.control(d.ID)
	n.ensure(d)
	n.ensure(sharing.Daemon{ID: d.ID, UUIDs: d.UUIDs, ActiveThreads: 25, PinnedMiB: []int64{18432}, MultiUser: true})
	for name, other := range map[string]sharing.Daemon{
		"threads": {ID: d.ID, UUIDs: d.UUIDs, ActiveThreads: 50, PinnedMiB: d.PinnedMiB, MultiUser: true},
		"memory":  {ID: d.ID, UUIDs: d.UUIDs, ActiveThreads: 25, MultiUser: true},
		"device":  {ID: d.ID, UUIDs: n.uuids[1:], ActiveThreads: 25, PinnedMiB: d.PinnedMiB, MultiUser: true},
		"users":   {ID: d.ID, UUIDs: d.UUIDs, ActiveThreads: 25, PinnedMiB: d.PinnedMiB},
	} {
		err := n.client.Ensure(t.Context(), other)
		if says(t, err, d.ID, "other settings", "stop it first"); api.ReasonOf(err) != api.Invalid {
			t.Errorf("%s: reason %q", name, api.ReasonOf(err))
		}
	}
	if after := n.control(d.ID); after != before {
		t.Errorf("process %d became %d", before, after)
	}
	ok(t, n.client.Stop(t.Context(), d.ID))
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
}

// A daemon of one user has no server before its first client.
func TestEnsureForOneUser(t *testing.T) {
	n := newNode(t)
	n.start()
	d := sharing.Daemon{ID: "claim", UUIDs: n.uuids, PinnedMiB: []int64{0, 1024}}
	n.ensure(d)
	if s := n.servers(); len(s) != 0 {
		t.Errorf("servers %+v", s)
	}
	c, err := simmps.Dial(n.pipe(d.ID), simmps.Join{Devices: d.UUIDs})
	ok(t, err)
	defer c.Close()
	if g := c.Grants; len(g) != 2 || g[0].LimitMiB != 0 || g[1].LimitMiB != 1024 {
		t.Errorf("granted %+v", g)
	}
}

// A daemon has its own directories where CUDA looks, and those of no other.
func TestDaemonsDoNotSeeEachOther(t *testing.T) {
	n := newNode(t)
	n.start()
	a, b := n.quarter(), sharing.Daemon{ID: "gpu-1-half", UUIDs: n.uuids[1:], ActiveThreads: 50, MultiUser: true}
	n.ensure(a)
	n.ensure(b)
	for _, c := range []struct{ own, other string }{{a.ID, b.ID}, {b.ID, a.ID}} {
		proc := filepath.Join("/proc", strconv.Itoa(n.control(c.own)))
		root := proc + "/root"
		ok(t, os.WriteFile(filepath.Join(mps.Shm(n.cfg.Root, c.own), "mine"), nil, 0o666))
		for _, seen := range []string{"/dev/shm/mine", mps.PipeMount + "/control", logsMount + "/control.log"} {
			if _, err := os.Stat(root + seen); err != nil {
				t.Errorf("%s does not see %s: %v", c.own, seen, err)
			}
		}
		raw, err := os.ReadFile(proc + "/mountinfo")
		ok(t, err)
		for line := range strings.Lines(string(raw)) {
			if m, ok := parseMount(line); ok && m.source == source+c.other {
				t.Errorf("%s sees %s", c.own, m.point)
			}
		}
		if names, err := os.ReadDir(root + n.pipe(c.other)); err == nil && len(names) > 0 {
			t.Errorf("%s sees in the pipe directory of %s: %v", c.own, c.other, names)
		}
	}
}

// The tmpfs are there once, bounded, and for any user.
func TestDirectories(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	all, err := mounts()
	ok(t, err)
	seen := map[string]int{}
	for _, m := range all {
		seen[m.point]++
	}
	for dir, size := range map[string]uint64{mps.Shm(n.cfg.Root, d.ID): 16 << 20, n.pipe(d.ID): 1 << 20} {
		var fs unix.Statfs_t
		ok(t, unix.Statfs(dir, &fs))
		if got := fs.Blocks * uint64(fs.Bsize); seen[dir] != 1 || fs.Type != unix.TMPFS_MAGIC || got != size || fs.Files == 0 {
			t.Errorf("%s is mounted %d times, type %#x, %d bytes, %d files", dir, seen[dir], fs.Type, got, fs.Files)
		}
		info, err := os.Stat(dir)
		ok(t, err)
		if info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
			t.Errorf("%s has the mode %v", dir, info.Mode())
		}
	}
	if info, err := os.Stat(filepath.Join(n.cfg.Logs, d.ID)); err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
		t.Errorf("the logs: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(n.cfg.Socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
}

// A daemon with clients is not stopped; it is when they are gone.
func TestStopRefusesClients(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	var conns []*simmps.Conn
	for range 2 {
		c, err := simmps.Dial(n.pipe(d.ID), simmps.Join{Devices: d.UUIDs})
		ok(t, err)
		conns = append(conns, c)
	}
	err := n.client.Stop(t.Context(), d.ID)
	if says(t, err, d.ID, "2 clients"); api.ReasonOf(err) != api.InUse {
		t.Errorf("reason %q", api.ReasonOf(err))
	}
	n.ensure(d)
	for _, c := range conns {
		ok(t, c.Close())
	}
	n.until("it is stopped", func() bool { return n.client.Stop(t.Context(), d.ID) == nil })
	n.nothingLeft(d.ID)
	if s := n.servers(); len(s) != 0 {
		t.Errorf("servers %+v", s)
	}
}

// A server with a fatal fault is told as broken until its clients are gone.
func TestFatalFault(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	c, err := simmps.Dial(n.pipe(d.ID), simmps.Join{Devices: d.UUIDs})
	ok(t, err)
	if err := c.Fault(); err == nil {
		t.Fatal("no fault")
	}
	n.state(d.ID, "is broken", func(s mps.State) bool {
		return !s.Ready && strings.Contains(s.Why, "fatal fault") && s.BrokenSince != nil
	})
	ok(t, c.Close())
	n.state(d.ID, "is ready", func(s mps.State) bool { return s.Ready && s.BrokenSince == nil })
}

// The plugin hears at once that a daemon broke, that it is back, and that the
// supervisor goes.
func TestWatch(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := make(chan sharing.Supervision, 1000)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		n.client.Watch(ctx, func(s sharing.Supervision) { heard <- s })
	}()
	hear := func(what string, is func(sharing.Supervision) bool) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		for {
			select {
			case s := <-heard:
				if is(s) {
					return
				}
			case <-deadline:
				t.Fatal("not heard: ", what)
			}
		}
	}
	d := n.quarter()
	hear("nobody answers", func(s sharing.Supervision) bool {
		return !s.Up && strings.Contains(s.Why, n.cfg.Socket) && strings.Contains(s.Why, "is cotenant-mps running")
	})
	stop := n.start()
	hear("up", func(s sharing.Supervision) bool { return s.Up && s.Why == "" && s.MultiUser && s.Version == "test" })
	n.ensure(d)
	hear("ready", func(s sharing.Supervision) bool { return s.Daemons[d.ID].Ready })
	ok(t, unix.Kill(n.control(d.ID), unix.SIGKILL))
	hear("broken", func(s sharing.Supervision) bool {
		d := s.Daemons[d.ID]
		return !d.Ready && d.BrokenSince != 0 && strings.Contains(d.Why, "killed")
	})
	hear("back", func(s sharing.Supervision) bool { return s.Daemons[d.ID].Ready && s.Daemons[d.ID].Restarts == 1 })
	stop()
	hear("away", func(s sharing.Supervision) bool { return !s.Up && len(s.Daemons) == 0 })
	n.start()
	hear("back again", func(s sharing.Supervision) bool {
		return s.Up && s.Daemons[d.ID].Ready && s.Daemons[d.ID].Restarts == 2
	})
	cancel()
	<-gone
}
