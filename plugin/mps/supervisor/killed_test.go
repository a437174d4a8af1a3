// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/sharing"
	simmps "github.com/cotenant-dev/cotenant/test/sim/mps"
)

// recovered is how long a daemon may not serve after it was killed.
const recovered = 5 * time.Second

// serves checks that a client gets what the quarter is to have.
func (n *node) serves(d sharing.Daemon) {
	n.t.Helper()
	c, err := simmps.Dial(n.pipe(d.ID), simmps.Join{Devices: d.UUIDs})
	ok(n.t, err)
	if g := c.Grants; len(g) != 1 || g[0].LimitMiB != 18432 || g[0].ThreadPercentage != 25 {
		n.t.Errorf("granted %+v", g)
	}
	ok(n.t, c.Close())
}

// back waits until the daemon serves again after what happened to it.
func (n *node) back(d sharing.Daemon, restarts int, why string, happened time.Time) {
	n.t.Helper()
	st := n.state(d.ID, "serves again", func(s mps.State) bool { return s.Ready && s.Restarts == restarts })
	if took := time.Since(happened); took > recovered {
		n.t.Errorf("it served again after %s", took)
	}
	if !strings.Contains(st.Why, why) || st.BrokenSince != nil {
		n.t.Errorf("state %+v, want one that says %q", st, why)
	}
	n.serves(d)
}

func TestKilledDaemon(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	inodes := n.inodes(d.ID)
	kept := filepath.Join(mps.Shm(n.cfg.Root, d.ID), "of-a-tenant")
	ok(t, os.WriteFile(kept, nil, 0o666))
	for restarts := 1; restarts <= 3; restarts++ {
		happened := time.Now()
		ok(t, unix.Kill(n.control(d.ID), unix.SIGKILL))
		n.back(d, restarts, "killed", happened)
		if s := n.servers(); len(s) != 1 {
			t.Errorf("servers %+v", s)
		}
	}
	if now := n.inodes(d.ID); now != inodes {
		t.Errorf("inodes %v became %v", inodes, now)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what a tenant had in shared memory is gone: %v", err)
	}
}

func TestKilledServer(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	control, happened := n.control(d.ID), time.Now()
	ok(t, unix.Kill(n.servers()[0].PID, unix.SIGKILL))
	n.back(d, 1, "server", happened)
	if now := n.control(d.ID); now != control {
		t.Errorf("the control daemon was started anew for it")
	}
}

// A supervisor that was killed left daemons, sockets and mounts. The next one has
// all of them serve again.
func TestKilledSupervisor(t *testing.T) {
	n := newNode(t)
	first := n.process()
	d := n.quarter()
	other := sharing.Daemon{ID: "gpu-1-half", UUIDs: n.uuids[1:], MultiUser: true}
	n.ensure(d)
	n.ensure(other)
	inodes, old := n.inodes(d.ID), n.control(d.ID)
	happened := time.Now()
	ok(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	if err := unix.Kill(old, 0); err != nil {
		t.Fatalf("the daemon ended with its supervisor: %v", err)
	}
	n.process()
	n.back(d, 1, "the supervisor was started anew", happened)
	n.state(other.ID, "serves again", func(s mps.State) bool { return s.Ready && s.Restarts == 1 })
	if now := n.inodes(d.ID); now != inodes {
		t.Errorf("inodes %v became %v", inodes, now)
	}
	if now := n.control(d.ID); now == old {
		t.Error("nobody's child serves")
	}
	if s := n.servers(); len(s) != 2 {
		t.Errorf("servers %+v", s)
	}
	n.mountedOnce()
	for _, id := range []string{d.ID, other.ID} {
		ok(t, n.client.Stop(t.Context(), id))
		n.until("nothing is left", func() bool { _, err := os.Lstat(filepath.Join(n.cfg.Root, id)); return errors.Is(err, os.ErrNotExist) })
	}
	n.nothingLeft(d.ID)
}

// What was killed with its supervisor left a socket and a pid file, and a tenant
// left a trap.
func TestStaleFiles(t *testing.T) {
	n := newNode(t)
	first := n.process()
	d := n.quarter()
	n.ensure(d)
	control := n.control(d.ID)
	ok(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	ok(t, unix.Kill(control, unix.SIGKILL))
	outside := filepath.Join(filepath.Dir(n.cfg.Root), "outside")
	ok(t, os.MkdirAll(outside, 0o755))
	ok(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600))
	ok(t, os.Symlink(outside, filepath.Join(n.pipe(d.ID), "trap")))
	ok(t, os.MkdirAll(filepath.Join(n.pipe(d.ID), "deep/deeper"), 0o777))
	for _, name := range []string{"control", "nvidia-cuda-mps-control.pid"} {
		if _, err := os.Lstat(filepath.Join(n.pipe(d.ID), name)); err != nil {
			t.Fatalf("nothing stale: %v", err)
		}
	}
	n.process()
	n.back(d, 1, "the supervisor was started anew", time.Now())
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
	for _, name := range []string{"trap", "deep"} {
		if _, err := os.Lstat(filepath.Join(n.pipe(d.ID), name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// A supervisor that is told to end ends its daemons, and the next one has them
// again, in the same directories.
func TestTerminatedSupervisor(t *testing.T) {
	n := newNode(t)
	first := n.process()
	d := n.quarter()
	n.ensure(d)
	inodes := n.inodes(d.ID)
	ok(t, first.Process.Signal(syscall.SIGTERM))
	ok(t, first.Wait())
	n.nothingRuns()
	if s := n.servers(); len(s) != 0 {
		t.Errorf("servers %+v", s)
	}
	if _, err := os.Lstat(n.cfg.Socket); err == nil {
		t.Error("the socket is left")
	}
	happened := time.Now()
	n.process()
	n.back(d, 1, "the supervisor was started anew", happened)
	if now := n.inodes(d.ID); now != inodes {
		t.Errorf("inodes %v became %v", inodes, now)
	}
}

// A second supervisor on the same root does not start, and disturbs nothing.
func TestOneSupervisor(t *testing.T) {
	n := newNode(t)
	n.start()
	d := n.quarter()
	n.ensure(d)
	_, err := New(n.cfg)
	says(t, err, n.cfg.Root, "another supervisor")
	n.serves(d)
}

// A state file that is damaged is set aside, and said so. What ran is ended, and
// has its directories again when it is asked for.
func TestDamagedState(t *testing.T) {
	n := newNode(t)
	first := n.process()
	d := n.quarter()
	n.ensure(d)
	inodes := n.inodes(d.ID)
	ok(t, first.Process.Kill())
	_ = first.Wait() // it was killed
	ok(t, os.WriteFile(filepath.Join(n.cfg.Root, stateName), []byte(`{"version":1,"daemons":{"../../etc":{}}}`), 0o600))
	n.start()
	h, err := n.client.Hello(t.Context())
	ok(t, err)
	if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "set aside") {
		t.Errorf("notes %q", h.Notes)
	}
	aside, err := filepath.Glob(filepath.Join(n.cfg.Root, stateName+".damaged-*"))
	ok(t, err)
	if len(aside) != 1 {
		t.Errorf("set aside: %v", aside)
	}
	n.until("what is not wanted has ended", func() bool { return len(n.servers()) == 0 })
	n.ensure(d)
	n.serves(d)
	if now := n.inodes(d.ID); now != inodes {
		t.Errorf("inodes %v became %v", inodes, now)
	}
}

// A state file of a newer release is not touched.
func TestNewerState(t *testing.T) {
	n := newNode(t)
	path := filepath.Join(n.cfg.Root, stateName)
	ok(t, os.WriteFile(path, []byte(`{"version":2,"daemons":[]}`), 0o600))
	_, err := New(n.cfg)
	says(t, err, path, "newer release")
	if raw, err := os.ReadFile(path); err != nil || !strings.Contains(string(raw), `"version":2`) {
		t.Errorf("it is now %s, %v", raw, err)
	}
}
