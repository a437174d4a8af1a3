// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/mps"
	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

// TestCommands: what the daemon says to each command, in this order. A want that
// begins with ! is part of an error.
func TestCommands(t *testing.T) {
	n := newNode(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "T4"}}})
	n.daemon("-M")
	for _, c := range [][2]string{
		{"get_server_list", ""},
		{"get_default_active_thread_percentage", "100.0"},
		{"set_default_active_thread_percentage 25", "25.0"},
		{"get_default_active_thread_percentage", "25.0"},
		{"set_default_active_thread_percentage 0", "!above 0"},
		{"set_default_active_thread_percentage 101", "!up to 100"},
		{"set_default_active_thread_percentage many", "!number"},
		{"get_default_device_pinned_mem_limit 0", "0M"},
		{"set_default_device_pinned_mem_limit 0 2G", "2G"},
		{"get_default_device_pinned_mem_limit 0", "2G"},
		{"set_default_device_pinned_mem_limit 1 512M", "512M"},
		{"set_default_device_pinned_mem_limit " + n.devices[0] + " 1G", "1G"},
		{"set_default_device_pinned_mem_limit 9 1G", "1G"},
		{"set_default_device_pinned_mem_limit 0 2", "!G or M"},
		{"set_default_device_pinned_mem_limit 0 1.5G", "!G or M"},
		{"set_default_device_pinned_mem_limit 0", "!arguments"},
		{"set_default_client_priority 1", "1"},
		{"get_default_client_priority", "1"},
		{"set_default_client_priority 7", "!0 (normal)"},
		{"device_query", "0: " + n.devices[0] + "\n1: " + n.devices[1]},
		{"get_server_status 1", "!not found"},
		{"terminate_client 1 2", "!not found"},
		{"ps", ""},
		{"start_server", "!arguments"},
		{"start_server -uid x", "!-uid N"},
		{"quit -t soon", "!-t SECONDS"},
		{"make_coffee", "!Unknown command"},
	} {
		got, err := n.send(c[0])
		if part, wrong := strings.CutPrefix(c[1], "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q (%v), want an error that says %q", c[0], got, err, part)
			}
		} else if err != nil || got != c[1] {
			t.Errorf("%s: %q (%v), want %q", c[0], got, err, c[1])
		}
	}
	if calls := n.m.Calls(sim.MPSCommand + "set_default_device_pinned_mem_limit"); calls != 6 {
		t.Errorf("%d calls of a command were counted, want 6", calls)
	}
}

// TestServerCommands: those that are about a server with a client.
func TestServerCommands(t *testing.T) {
	n := newNode(t, a30())
	n.daemon("-M")
	srv := n.server()
	n.join()
	me := strconv.Itoa(os.Getpid())
	for _, c := range [][2]string{
		{"get_server_list", srv},
		{"get_client_list " + srv, me},
		{"get_device_client_list", n.devices[0] + ": " + me},
		{"get_active_thread_percentage " + srv, "100.0"},
		{"set_active_thread_percentage " + srv + " 50", "50.0"},
		{"get_active_thread_percentage " + srv, "50.0"},
		{"get_default_active_thread_percentage", "100.0"},
		{"set_device_pinned_mem_limit " + srv + " 0 1G", "1G"},
		{"get_device_pinned_mem_limit " + srv + " 0", "1G"},
	} {
		n.says(c[0], c[1])
	}
	out, err := n.send("ps")
	if fields := strings.Fields(out); err != nil || len(fields) != 10 || fields[5] != me || fields[7] != srv || fields[8] != n.devices[0] || fields[9] != "test" {
		t.Errorf("ps: %q (%v)", out, err)
	}
	// What a server is told holds for the clients that come.
	if g := n.join().Grants[0]; g.ThreadPercentage != 50 || g.LimitMiB != 1024 {
		t.Errorf("a new client gets %+v", g)
	}
}

// TestProgram: the command line, as a supervisor and a person use it.
func TestProgram(t *testing.T) {
	n := newNode(t, a30())
	run := func(stdin string, args ...string) (string, bool) {
		cmd := n.command(programs.MPSControl, args...)
		cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES="+n.devices[0])
		cmd.Stdin = strings.NewReader(stdin)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return strings.TrimSpace(out.String()), err == nil
	}
	for _, c := range []struct {
		stdin, args, want string
		ok                bool
	}{
		{"get_server_list\n", "", "Cannot find MPS control daemon process", false},
		{"", "-x", "invalid option", false},
		{"", "-d -f", "exclude", false},
		{"", "-f quit", "takes no command", false},
		{"", "-d -M", "", true},
		{"", "-d", "did not come up", false},
		{"", "-f", "already running", false},
		{"get_default_active_thread_percentage\n", "", "100.0", true},
		{"set_default_active_thread_percentage 50\nget_default_active_thread_percentage\n", "", "50.0\n50.0", true},
		{"", "get_default_active_thread_percentage", "50.0", true},
		{"make_coffee\n", "", "Unknown command", false},
		{"quit\n", "", "", true},
		{"get_server_list\n", "", "Cannot find MPS control daemon process", false},
	} {
		out, ok := run(c.stdin, strings.Fields(c.args)...)
		if ok != c.ok || !strings.Contains(out, c.want) || c.want == "" && out != "" {
			t.Errorf("%q with %q: %t, %q, want %t, %q", c.args, c.stdin, ok, out, c.ok, c.want)
		}
	}
	n.idle()
	n.empty()
	log, err := os.ReadFile(filepath.Join(n.log, "control.log"))
	if err != nil || !strings.Contains(string(log), "Starting control daemon using socket "+filepath.Join(n.pipe, "control")) {
		t.Errorf("control.log: %v\n%s", err, log)
	}
}

// TestKilledDaemon: its files are in the way of the next one until they are
// removed, and its server stays until its clients have gone.
func TestKilledDaemon(t *testing.T) {
	n := newNode(t, a30())
	d := n.daemon("-M")
	n.server()
	c := n.join()
	must(t, d.Process.Kill())
	_ = d.Wait() // it was killed
	if _, err := n.send("get_server_list"); !errors.Is(err, mps.ErrNoProcess) {
		t.Errorf("a command: %v", err)
	}
	if err := n.launch().Wait(); err == nil {
		t.Error("a new daemon came up on the files of a killed one")
	}
	must(t, c.Allocate(n.devices[0], 100))
	if s := n.state(); len(s.Daemons) != 0 || len(s.Servers) != 1 || len(s.Processes) != 2 {
		t.Errorf("the machine has %+v, %+v, %+v, want a server and its client", s.Daemons, s.Servers, s.Processes)
	}
	must(t, c.Close())
	n.idle()
	must(t, os.Remove(filepath.Join(n.pipe, "control")))
	if err := n.launch().Wait(); err == nil {
		t.Error("a new daemon came up on the pid file of a killed one")
	}
	must(t, os.Remove(filepath.Join(n.pipe, "nvidia-cuda-mps-control.pid")))
	n.daemon()
	n.says("get_default_active_thread_percentage", "100.0")
}

// TestStart: a daemon that does not come up as it should, by faults.
func TestStart(t *testing.T) {
	code := sim.Unknown
	fault := func(n *node, gpu int, do sim.Do) {
		must(n.T, n.m.Inject(sim.Fault{ID: "start", Match: sim.Match{Call: sim.MPSControlStart, GPU: &gpu}, Do: do}))
	}
	t.Run("never", func(t *testing.T) {
		n := newNode(t, a30())
		fault(n, 0, sim.Do{Hang: true})
		n.launch()
		n.struck("start")
		if _, err := n.send("get_server_list"); !errors.Is(err, mps.ErrNoProcess) {
			t.Errorf("a daemon that hangs answers: %v", err)
		}
		must(t, n.m.ClearFaults())
		n.until("it goes on", func() bool { _, err := n.send("get_server_list"); return err == nil })
	})
	t.Run("slowly", func(t *testing.T) {
		n := newNode(t, a30())
		fault(n, 0, sim.Do{Delay: 300 * time.Millisecond})
		begun := time.Now()
		n.daemon()
		if took := time.Since(begun); took < 300*time.Millisecond {
			t.Errorf("it took %s, want 300 ms or more", took)
		}
	})
	t.Run("not at all", func(t *testing.T) {
		n := newNode(t, a30())
		fault(n, 0, sim.Do{Return: &code})
		if err := n.launch().Wait(); err == nil {
			t.Error("it came up")
		}
		n.idle()
		n.empty()
	})
	t.Run("killed after", func(t *testing.T) {
		n := newNode(t, a30())
		fault(n, 0, sim.Do{CrashAfter: true})
		if err := n.launch().Wait(); err == nil {
			t.Error("it lives")
		}
		if _, err := os.Lstat(filepath.Join(n.pipe, "control")); err != nil {
			t.Errorf("its socket: %v", err)
		}
	})
	t.Run("on another GPU", func(t *testing.T) {
		n := newNode(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "T4"}}})
		fault(n, 1, sim.Do{Return: &code})
		n.devices = n.devices[:1]
		n.daemon()
	})
	t.Run("the server never", func(t *testing.T) {
		n := newNode(t, a30())
		must(t, n.m.Inject(sim.Fault{ID: "start", Match: sim.Match{Call: sim.MPSServerStart}, Do: sim.Do{Hang: true}}))
		n.daemon("-M")
		n.says("start_server -uid 0", "")
		n.struck("start")
		pid, err := n.send("get_server_list")
		must(t, err)
		n.says("get_server_status "+pid, "INITIALIZING")
		must(t, n.m.ClearFaults())
		n.server()
	})
	t.Run("a path too long", func(t *testing.T) {
		n := newNode(t, a30())
		n.pipe = filepath.Join(n.pipe, strings.Repeat("p", 100))
		if err := n.launch().Wait(); err == nil {
			t.Error("it came up on a socket that nobody can connect to")
		}
	})
}

// struck waits until a fault has struck.
func (n *node) struck(id string) {
	n.Helper()
	n.until("fault "+id+" strikes", func() bool {
		all, err := n.m.Faults()
		must(n.T, err)
		return len(all) == 1 && all[0].Fired > 0
	})
}

// TestDefaults reach the next server alone and are lost with the daemon.
func TestDefaults(t *testing.T) {
	n := newNode(t, a30())
	d := n.daemon("-M")
	n.says("set_default_active_thread_percentage 40", "40.0")
	srv := n.server()
	n.says("set_default_active_thread_percentage 10", "10.0")
	n.says("set_default_device_pinned_mem_limit 0 1G", "1G")
	if g := n.join().Grants[0]; g.ThreadPercentage != 40 || g.LimitMiB != 0 {
		t.Errorf("a client of the server that was there gets %+v", g)
	}
	n.kill(srv)
	n.until("the daemon sees its server's end", func() bool { s, err := n.send("get_server_list"); return err == nil && s == "" })
	if g := n.join().Grants[0]; g.ThreadPercentage != 10 || g.LimitMiB != 1024 {
		t.Errorf("a client of the next server gets %+v", g)
	}
	n.says("quit -t 0", "")
	must(t, d.Wait())
	n.daemon()
	n.says("get_default_active_thread_percentage", "100.0")
}

// TestQuit waits for the clients, or for so long.
func TestQuit(t *testing.T) {
	n := newNode(t, a30())
	d := n.daemon("-M")
	n.server()
	c := n.join()
	quit := make(chan error, 1)
	go func() { _, err := n.send("quit"); quit <- err }()
	n.until("no client is taken any more", func() bool {
		c, err := mps.Dial(n.pipe, mps.Join{Devices: n.devices})
		return err != nil || c.Close() != nil
	})
	select {
	case err := <-quit:
		t.Fatalf("it quit under a client: %v", err)
	default:
	}
	must(t, c.Close())
	must(t, <-quit)
	must(t, d.Wait())
	n.idle()
	n.empty()

	d = n.daemon("-M")
	c = n.join()
	n.says("quit -t 0", "")
	n.lost(c, sim.CUDARPCFailure)
	must(t, d.Wait())
	n.idle()
}

// TestReboot: nothing of MPS outlives it, and nothing is tidied up.
func TestReboot(t *testing.T) {
	n := newNode(t, a30())
	d := n.daemon("-M")
	n.server()
	if err := n.m.ReloadDriver(); err == nil {
		t.Error("the driver was unloaded under a server")
	}
	must(t, n.m.Reboot())
	n.idle()
	if err := d.Wait(); err == nil {
		t.Error("the daemon ended as if it had quit")
	}
}
