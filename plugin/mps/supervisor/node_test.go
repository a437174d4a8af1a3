// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

// node is a simulated machine with a driver root, and a place for a supervisor.
type node struct {
	t       testing.TB
	machine *sim.Machine
	cfg     Config
	client  *mps.Client
	uuids   []string
}

// newNode makes one with two GPUs and NVIDIA's programs.
func newNode(t testing.TB) *node {
	t.Helper()
	// Short, since sockets are below it; and passable for any user.
	dir, err := os.MkdirTemp("", "m")
	ok(t, err)
	t.Cleanup(func() {
		// The mount points in a user namespace outlive the test, see userns.
		if err := os.RemoveAll(dir); !userns.Inside() {
			ok(t, err)
		}
	})
	ok(t, os.Chmod(dir, 0o755))
	if up := filepath.Dir(dir); up != "/tmp" {
		ok(t, os.Chmod(up, 0o755))
	}
	machine, err := sim.Create(filepath.Join(dir, "machine"), sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80"}, {Product: "H100-80"}}})
	ok(t, err)
	state, err := machine.State()
	ok(t, err)
	t.Setenv("COTENANT_SIM_STATE", machine.Dir())
	n := &node{t: t, machine: machine, uuids: slices.Sorted(slices.Values([]string{state.GPUs[0].UUID, state.GPUs[1].UUID}))}
	n.cfg = Config{
		Socket: filepath.Join(dir, "mps.sock"), Root: filepath.Join(dir, "r"), HostRoot: "/host/r", Logs: filepath.Join(dir, "logs"),
		DriverRoot: filepath.Join(dir, "driver"), ShmSize: "16m", Version: "test", Enter: []string{"/proc/self/exe", enterWord},
		Patience: Patience{Command: 5 * time.Second, Look: 50 * time.Millisecond, Quit: 4 * time.Second, Again: 20 * time.Millisecond},
	}
	n.client = mps.New(n.cfg.Socket)
	ok(t, os.MkdirAll(filepath.Join(n.cfg.DriverRoot, "usr/bin"), 0o755))
	n.install(filepath.Join(programs, controlName))
	n.share()
	return n
}

// install makes a program the control program of the driver root, by a link, and
// puts the server beside it.
func (n *node) install(program string) {
	n.t.Helper()
	bin := filepath.Join(n.cfg.DriverRoot, "usr/bin")
	raw, err := os.ReadFile(program)
	ok(n.t, err)
	n.program(raw)
	raw, err = os.ReadFile(filepath.Join(programs, "nvidia-cuda-mps-server"))
	ok(n.t, err)
	ok(n.t, os.WriteFile(filepath.Join(bin, "nvidia-cuda-mps-server"), raw, 0o755))
}

// program makes this the control program.
func (n *node) program(raw []byte) {
	n.t.Helper()
	path := filepath.Join(n.cfg.DriverRoot, "usr/bin", controlName)
	ok(n.t, os.WriteFile(path+".new", raw, 0o755))
	ok(n.t, os.Rename(path+".new", path))
}

// share makes the root a mount as a pod has it: what is mounted below goes to the
// host, too.
func (n *node) share() {
	n.t.Helper()
	ok(n.t, os.MkdirAll(n.cfg.Root, 0o755))
	ok(n.t, unix.Mount("test", n.cfg.Root, "tmpfs", 0, "mode=755"))
	ok(n.t, unix.Mount("", n.cfg.Root, "", unix.MS_SHARED, ""))
	n.t.Cleanup(func() { ok(n.t, unix.Unmount(n.cfg.Root, unix.MNT_DETACH)) })
}

// start runs a supervisor in this process and returns what ends it.
func (n *node) start() (stop func()) {
	n.t.Helper()
	s, err := New(n.cfg)
	ok(n.t, err)
	ctx, cancel := context.WithCancel(n.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	n.until("the supervisor answers", func() bool { _, err := n.client.Hello(n.t.Context()); return err == nil })
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			ok(n.t, <-done)
		}
	}
	n.t.Cleanup(func() {
		stop()
		n.nothingRuns()
	})
	return stop
}

// process runs a supervisor as a process.
func (n *node) process() *exec.Cmd { return n.processIn(0) }

// processIn runs it in namespaces of its own.
func (n *node) processIn(namespaces uintptr) *exec.Cmd {
	n.t.Helper()
	raw, err := json.Marshal(n.cfg)
	ok(n.t, err)
	cmd := exec.Command("/proc/self/exe", superviseWord, string(raw))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	ok(n.t, cmd.Start())
	n.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			ok(n.t, cmd.Wait())
		}
		n.nothingRuns()
	})
	n.until("the supervisor answers", func() bool { _, err := n.client.Hello(n.t.Context()); return err == nil })
	return cmd
}

// nothingRuns checks that no process of a daemon is left.
func (n *node) nothingRuns() {
	n.t.Helper()
	left, err := marked(func(dir string) bool { return dir != "" && within(dir, n.cfg.Root) })
	ok(n.t, err)
	for dir, all := range left {
		n.t.Errorf("%d processes of %s are left", len(all), dir)
		ok(n.t, endAll(all, time.Second))
	}
}

// nothingLeft checks that there is no trace of a daemon.
func (n *node) nothingLeft(id string) {
	n.t.Helper()
	all, err := mounts()
	ok(n.t, err)
	for _, m := range all {
		if within(m.point, filepath.Join(n.cfg.Root, id)) {
			n.t.Errorf("%s is mounted", m.point)
		}
	}
	for _, dir := range []string{filepath.Join(n.cfg.Root, id), filepath.Join(n.cfg.Logs, id)} {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			n.t.Errorf("%s is there: %v", dir, err)
		}
	}
	if l, err := n.client.List(n.t.Context(), ""); err != nil || len(l.Daemons) > 0 {
		n.t.Errorf("daemons %v, %v", l.Daemons, err)
	}
	raw, err := os.ReadFile(filepath.Join(n.cfg.Root, stateName))
	if err == nil && strings.Contains(string(raw), id) {
		n.t.Errorf("it is remembered: %s", raw)
	}
}

// quarter is a daemon on the first GPU, as a shared slot has it.
func (n *node) quarter() sharing.Daemon {
	return sharing.Daemon{ID: "gpu-0-quarter-4f2a", UUIDs: n.uuids[:1], ActiveThreads: 25, PinnedMiB: []int64{18432}, MultiUser: true}
}

func (n *node) ensure(d sharing.Daemon) {
	n.t.Helper()
	ok(n.t, n.client.Ensure(n.t.Context(), d))
}

// state returns how a daemon is, once that is so.
func (n *node) state(id, what string, is func(mps.State) bool) mps.State {
	n.t.Helper()
	var st mps.State
	n.until(id+" "+what, func() bool {
		l, err := n.client.List(n.t.Context(), "")
		st = l.Daemons[id]
		return err == nil && is(st)
	})
	return st
}

// servers are those that have a GPU of the machine.
func (n *node) servers() []sim.MPSServer {
	n.t.Helper()
	st, err := n.machine.State()
	ok(n.t, err)
	return st.Servers
}

func (n *node) pipe(id string) string { return mps.Pipe(n.cfg.Root, id) }

// inodes are those that containers have mounted.
func (n *node) inodes(id string) [2]uint64 {
	n.t.Helper()
	var out [2]uint64
	for i, dir := range []string{mps.Shm(n.cfg.Root, id), n.pipe(id)} {
		var st unix.Stat_t
		ok(n.t, unix.Stat(dir, &st))
		out[i] = st.Dev<<32 | st.Ino
	}
	return out
}

// control returns the process of a control daemon.
func (n *node) control(id string) int {
	n.t.Helper()
	pid := 0
	found, err := marked(func(dir string) bool { return dir == filepath.Join(n.cfg.Root, id) })
	ok(n.t, err)
	for _, all := range found {
		for _, p := range all {
			comm, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "cmdline"))
			if strings.HasSuffix(strings.TrimSuffix(string(comm), "-M\x00"), controlName+"\x00-f\x00") {
				pid = p.pid
			}
			p.close()
		}
	}
	if pid == 0 {
		n.t.Fatalf("%s has no control daemon", id)
	}
	return pid
}

// until waits for a condition.
func (n *node) until(what string, is func() bool) {
	n.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says checks that an error names this.
func says(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
