// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/mps"
	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

// bin is where the programs are, built once. TestMain sets it before any test.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mps")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		// Other users run them too.
		if err := errors.Join(os.Chmod(dir, 0o755), programs.Build(dir, programs.MPSControl, programs.MPSServer, programs.CUDA)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		bin = dir
		return m.Run()
	}())
}

// soon is how long a test waits for what must come.
const soon = 20 * time.Second

// node is a machine and the directories of one daemon.
type node struct {
	*testing.T
	m         *sim.Machine
	pipe, log string
	devices   []string
}

// newNode lays a machine of that configuration; a daemon on it gets all its GPUs.
func newNode(t *testing.T, cfg sim.Config) *node {
	t.Helper()
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "n")
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	m, err := sim.Create(filepath.Join(dir, "sim"), cfg)
	must(t, err)
	n := &node{T: t, m: m, pipe: filepath.Join(dir, "pipe"), log: filepath.Join(dir, "log")}
	for _, g := range n.state().GPUs {
		n.devices = append(n.devices, g.UUID)
	}
	t.Cleanup(func() { must(t, m.Check()) })
	return n
}

func a30() sim.Config { return sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}}} }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (n *node) state() sim.State {
	n.Helper()
	s, err := n.m.State()
	must(n.T, err)
	return s
}

func (n *node) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Env = append(os.Environ(), "COTENANT_SIM_STATE="+n.m.Dir(), "COTENANT_SIM_DEV="+filepath.Join(n.m.Root(), "dev"),
		"CUDA_MPS_PIPE_DIRECTORY="+n.pipe, "CUDA_MPS_LOG_DIRECTORY="+n.log)
	cmd.Dir = filepath.Dir(n.m.Dir()) // one that every user may be in
	cmd.Stderr = os.Stderr
	return cmd
}

// launch starts a daemon in the foreground and does not wait for it.
func (n *node) launch(args ...string) *exec.Cmd {
	n.Helper()
	cmd := n.command(programs.MPSControl, append([]string{"-f"}, args...)...)
	cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES="+strings.Join(n.devices, ","))
	n.run(cmd)
	return cmd
}

// run starts a command that is ended with the test, and its servers with it.
func (n *node) run(cmd *exec.Cmd) {
	n.Helper()
	must(n.T, cmd.Start())
	n.Cleanup(func() {
		if cmd.ProcessState != nil {
			return
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	})
}

// daemon starts one and waits until it takes commands.
func (n *node) daemon(args ...string) *exec.Cmd {
	n.Helper()
	cmd := n.launch(args...)
	n.until("the daemon takes commands", func() bool { _, err := n.send("get_server_list"); return err == nil })
	return cmd
}

// send gives a command to the daemon.
func (n *node) send(line string) (string, error) {
	var out strings.Builder
	err := mps.Send(n.pipe, strings.NewReader(line), &out)
	return strings.TrimSpace(out.String()), err
}

// says expects an answer.
func (n *node) says(line, want string) {
	n.Helper()
	if got, err := n.send(line); err != nil || got != want {
		n.Errorf("%s: %q (%v), want %q", line, got, err, want)
	}
}

// server starts the daemon's server, and waits until it has its devices.
func (n *node) server() string {
	n.Helper()
	n.says("start_server -uid "+strconv.Itoa(os.Geteuid()), "")
	pid, err := n.send("get_server_list")
	must(n.T, err)
	n.until("server "+pid+" is active", func() bool { s, err := n.send("get_server_status " + pid); return err == nil && s == "ACTIVE" })
	return pid
}

// until waits for a condition.
func (n *node) until(what string, holds func() bool) {
	n.Helper()
	for deadline := time.Now().Add(soon); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.Fatalf("%s: not within %s; the machine is %+v", what, soon, n.state())
		}
	}
}

// join makes this process a client once more.
func (n *node) join() *mps.Conn {
	n.Helper()
	return n.joinWith(mps.Join{Devices: n.devices, Name: "test"})
}

func (n *node) joinWith(j mps.Join) *mps.Conn {
	n.Helper()
	c, err := mps.Dial(n.pipe, j)
	must(n.T, err)
	n.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	return c
}

// lost waits for the error that ends a client.
func (n *node) lost(c *mps.Conn, want sim.CUDAError) {
	n.Helper()
	select {
	case got := <-c.Lost():
		if got != want {
			n.Errorf("the client lost its contexts by %s, want %s", got, want)
		}
	case <-time.After(soon):
		n.Fatalf("the client lost nothing within %s, want %s", soon, want)
	}
}

// kill ends a process as a power cut would.
func (n *node) kill(pid string) {
	n.Helper()
	id, err := strconv.Atoi(pid)
	must(n.T, err)
	must(n.T, syscall.Kill(id, syscall.SIGKILL))
}

// idle waits until nothing of MPS is left on the machine.
func (n *node) idle() {
	n.Helper()
	n.until("the machine is idle", func() bool {
		s := n.state()
		return len(s.Processes)+len(s.Servers)+len(s.Daemons) == 0
	})
}

// empty expects nothing of a daemon in its pipe directory.
func (n *node) empty() {
	n.Helper()
	files, err := os.ReadDir(n.pipe)
	must(n.T, err)
	if len(files) > 0 {
		n.Errorf("%v is left in the pipe directory", files)
	}
}

// used is what of the first device is taken, in MiB.
func (n *node) used() uint64 {
	n.Helper()
	s := n.state()
	return s.UsedMiB(n.devices[0])
}

// clients are those on the first device.
func (n *node) clients() []sim.Process {
	n.Helper()
	s := n.state()
	return s.On(n.devices[0], sim.MPS)
}
