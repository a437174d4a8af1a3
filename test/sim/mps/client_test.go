// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/mps"
	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

func isOOM(err error) bool { return errors.Is(err, sim.CUDAOutOfMemory) }

// TestLimits: what a daemon sets holds for each client, and a client can only
// lower it.
func TestLimits(t *testing.T) {
	two := sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "A30-24"}}}
	deaf := two
	deaf.MPSIgnoresUUIDs = true
	for name, c := range map[string]struct {
		cfg  sim.Config
		set  func(n *node) string // the device that is limited to 1G
		own  uint64               // the client's own wish, MiB
		want [2]uint64            // MiB
	}{
		"by position":           {two, func(*node) string { return "1" }, 0, [2]uint64{0, 1024}},
		"by UUID":               {two, func(n *node) string { return n.devices[0] }, 0, [2]uint64{1024, 0}},
		"by UUID, ignored":      {deaf, func(n *node) string { return n.devices[0] }, 0, [2]uint64{}},
		"by position, deaf":     {deaf, func(*node) string { return "0" }, 0, [2]uint64{1024, 0}},
		"of no device":          {two, func(*node) string { return "2" }, 0, [2]uint64{}},
		"the client wants less": {two, func(*node) string { return "0" }, 512, [2]uint64{512, 512}},
		"the client wants more": {two, func(*node) string { return "0" }, 2048, [2]uint64{1024, 2048}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, c.cfg)
			n.daemon("-M")
			device := c.set(n)
			n.says("set_default_device_pinned_mem_limit "+device+" 1G", "1G")
			n.says("get_default_device_pinned_mem_limit "+device, "1G")
			j := mps.Join{Devices: n.devices, Limits: map[string]uint64{}}
			for _, uuid := range n.devices {
				j.Limits[uuid] = c.own
			}
			conn := n.joinWith(j)
			for i, uuid := range n.devices {
				if got := conn.Grants[i]; got.UUID != uuid || got.LimitMiB != c.want[i] {
					t.Errorf("device %d: %+v, want a limit of %d MiB", i, got, c.want[i])
				}
				if c.want[i] > 0 {
					must(t, conn.Allocate(uuid, c.want[i]))
				}
				if err := conn.Allocate(uuid, 1); isOOM(err) != (c.want[i] > 0) {
					t.Errorf("1 MiB more of device %d: %v", i, err)
				}
			}
			// It is a limit of each client, not of all.
			if c.want[0] > 0 {
				must(t, n.joinWith(j).Allocate(n.devices[0], c.want[0]))
			}
		})
	}
}

func TestThreadPercentage(t *testing.T) {
	n := newNode(t, a30())
	n.daemon("-M")
	n.says("set_default_active_thread_percentage 50", "50.0")
	for own, want := range map[float64]float64{0: 50, 20: 20, 80: 50} {
		if g := n.joinWith(mps.Join{Devices: n.devices, ThreadPercentage: own}).Grants[0]; g.ThreadPercentage != want {
			t.Errorf("a client that wants %v gets %v, want %v", own, g.ThreadPercentage, want)
		}
	}
}

// TestMemoryIsOne: all clients and the server share what the GPU has.
func TestMemoryIsOne(t *testing.T) {
	n := newNode(t, a30())
	n.daemon("-M")
	a, b := n.join(), n.join()
	p, err := sim.LookupProduct("A30-24")
	must(t, err)
	free := p.MemoryMiB - p.ReservedMiB - n.used()
	must(t, a.Allocate(n.devices[0], free-100))
	must(t, b.Allocate(n.devices[0], 100))
	if err := b.Allocate(n.devices[0], 1); !isOOM(err) {
		t.Errorf("more than there is: %v", err)
	}
	must(t, a.Free(n.devices[0]))
	must(t, b.Allocate(n.devices[0], 1))
	must(t, b.Close())
	n.until("what a client had is free", func() bool { return n.used() == 30 })
}

// TestMaxClients: by the CUDA version, and fewer on a part of a GPU.
func TestMaxClients(t *testing.T) {
	for cuda, want := range map[string]int{"13.0": 48, "13.1": 60} {
		t.Run(cuda, func(t *testing.T) {
			cfg := a30()
			cfg.CUDA = cuda
			n := newNode(t, cfg)
			n.daemon("-M")
			n.full(want)
		})
	}
	t.Run("a seventh", func(t *testing.T) {
		n := newNode(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}}})
		must(t, n.m.CreateInstance(0, 19, 0, true))
		n.devices = []string{n.state().GPUs[0].GIs[0].CIs[0].UUID}
		n.daemon("-M")
		n.full(6)
	})
}

// full expects room for so many clients.
func (n *node) full(want int) {
	n.Helper()
	var last *mps.Conn
	for range want {
		last = n.join()
	}
	if _, err := mps.Dial(n.pipe, mps.Join{Devices: n.devices}); !errors.Is(err, sim.CUDAMaxClients) {
		n.Errorf("client %d: %v, want %s", want+1, err, sim.CUDAMaxClients)
	}
	must(n.T, last.Close())
	n.until("a client's place is free", func() bool { return len(n.state().Processes) == want })
	n.join()
}

// TestFatalFault: one client's ends all, and nobody new is taken until the last
// of them has gone.
func TestFatalFault(t *testing.T) {
	for name, fault := range map[string]func(*node, *mps.Conn){
		"of a client": func(n *node, c *mps.Conn) {
			if err := c.Fault(); !errors.Is(err, sim.CUDALaunchFailed) {
				n.Errorf("the fault: %v", err)
			}
		},
		"by command": func(n *node, _ *mps.Conn) { n.says("fatal-fault", "") },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, a30())
			n.daemon("-M")
			srv := n.server()
			a, b := n.join(), n.join()
			fault(n, a)
			n.lost(a, sim.CUDALaunchFailed)
			n.lost(b, sim.CUDALaunchFailed)
			n.says("get_server_status "+srv, "FAULT")
			if err := b.Allocate(n.devices[0], 1); !errors.Is(err, sim.CUDALaunchFailed) {
				t.Errorf("a client goes on: %v", err)
			}
			must(t, a.Close())
			if _, err := mps.Dial(n.pipe, mps.Join{Devices: n.devices}); !errors.Is(err, sim.CUDAServerNotReady) {
				t.Errorf("a new client while one is left: %v", err)
			}
			must(t, b.Close())
			n.until("the server is active again", func() bool { s, err := n.send("get_server_status " + srv); return err == nil && s == "ACTIVE" })
			must(t, n.join().Allocate(n.devices[0], 1))
		})
	}
}

// TestClientIsEnded by an admin, by what ends it on the machine, or with its server.
func TestClientIsEnded(t *testing.T) {
	me := os.Getpid()
	for name, c := range map[string]struct {
		end  func(n *node, srv string)
		want sim.CUDAError
	}{
		"terminate_client": {func(n *node, srv string) { n.says("terminate_client "+srv+" "+strconv.Itoa(me), "") }, sim.CUDAClientTerminated},
		"on the machine":   {func(n *node, _ string) { must(n.T, n.m.KillProcess(me)) }, sim.CUDAClientTerminated},
		"server killed":    {func(n *node, srv string) { n.kill(srv) }, sim.CUDARPCFailure},
		"GPU lost":         {func(n *node, _ string) { must(n.T, n.m.LoseGPU(0)) }, sim.CUDARPCFailure},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, a30())
			n.daemon("-M")
			srv := n.server()
			conn := n.join()
			c.end(n, srv)
			n.lost(conn, c.want)
			if err := conn.Allocate(n.devices[0], 1); err == nil {
				t.Error("it goes on")
			}
			n.until("it is not on the GPU", func() bool { return len(n.clients()) == 0 })
		})
	}
}

// TestExclusive: the GPU is the server's, whoever comes later without MPS.
func TestExclusive(t *testing.T) {
	n := newNode(t, a30())
	must(t, n.m.PresetComputeMode(0, sim.ComputeExclusiveProcess))
	n.daemon("-M")
	n.server()
	n.join()
	n.join()
	outside := n.command(programs.CUDA, "run")
	outside.Env = append(outside.Env, "CUDA_MPS_PIPE_DIRECTORY="+n.pipe+"/none")
	said, err := outside.Output()
	var e struct {
		Devices []struct{ Error sim.CUDAError }
	}
	if err == nil || json.Unmarshal(said, &e) != nil || len(e.Devices) != 1 || e.Devices[0].Error != sim.CUDADeviceUnavailable {
		t.Errorf("a process without MPS: %s (%v)", said, err)
	}
}

// TestServerDies: of a device that there is not, one that is somebody else's, or
// one that serves no users at once. Clients then find no MPS.
func TestServerDies(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   sim.Config
		spoil func(*node)
	}{
		"no such device": {a30(), func(n *node) { n.devices = []string{n.devices[0], "GPU-none"} }},
		"no device":      {a30(), func(n *node) { n.devices = nil }},
		"a MIG parent":   {a30(), func(n *node) { must(n.T, n.m.SetMIG(0, true)) }},
		"in use": {a30(), func(n *node) {
			must(n.T, n.m.PresetComputeMode(0, sim.ComputeExclusiveProcess))
			must(n.T, n.m.AddProcess(sim.Process{PID: 9, Virtual: true}))
		}},
		"too old": {sim.Config{GPUs: []sim.GPUConfig{{Product: "P4"}}}, func(*node) {}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, c.cfg)
			c.spoil(n)
			n.daemon("-M")
			n.says("start_server -uid 0", "")
			n.until("the server has died", func() bool { s, err := n.send("get_server_list"); return err == nil && s == "" })
			if _, err := mps.Dial(n.pipe, mps.Join{Devices: n.devices}); !errors.Is(err, mps.ErrNoDaemon) {
				t.Errorf("a client: %v, want that it goes on without MPS", err)
			}
		})
	}
}

// TestSecondUser: without -M he waits until the first one's server has ended,
// which it does when it has no clients left. Not root, the daemon serves its own
// user alone.
func TestSecondUser(t *testing.T) {
	n := newNode(t, a30())
	n.daemon()
	if os.Geteuid() != 0 {
		if _, err := n.send("start_server -uid 12345"); err == nil {
			t.Error("a server of another user was started")
		}
		return
	}
	srv := n.server()
	c := n.join()
	must(t, os.Chmod(n.pipe, 0o777))
	other := n.command(programs.CUDA, "run", "--hold")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out, err := other.StdoutPipe()
	must(t, err)
	n.run(other)
	line := make(chan []byte, 1)
	go func() { b, _ := bufio.NewReader(out).ReadBytes('\n'); line <- b }()
	// He waits, so there is nothing to wait for: the first user's server must
	// answer to everything meanwhile.
	for range 20 {
		n.says("get_server_list", srv)
		must(t, c.Allocate(n.devices[0], 1))
	}
	select {
	case b := <-line:
		t.Fatalf("the second user did not wait: %s", b)
	default:
	}
	must(t, c.Close())
	var e struct {
		MPS struct{ Server int }
	}
	if b := <-line; json.Unmarshal(b, &e) != nil || e.MPS.Server == 0 || strconv.Itoa(e.MPS.Server) == srv {
		t.Errorf("the second user says %s, want a client of another server than %s", b, srv)
	}
	if s := n.state(); len(s.Servers) != 1 || s.Servers[0].UID != 12345 {
		t.Errorf("the servers are %+v", s.Servers)
	}
}

// TestServerWithoutSight: a server in a PID namespace of its own does not know its
// clients, and their limits do nothing.
func TestServerWithoutSight(t *testing.T) {
	n := newNode(t, a30())
	cmd := n.command(programs.MPSControl, "-f", "-M")
	cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES="+n.devices[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	n.run(cmd)
	n.until("the daemon takes commands", func() bool { _, err := n.send("get_server_list"); return err == nil })
	n.says("set_default_device_pinned_mem_limit 0 1G", "1G")
	if g := n.join().Grants[0]; g.LimitMiB != 0 {
		t.Errorf("a client without a PID gets %+v, want no limit", g)
	}
	if on := n.clients(); len(on) != 1 || on[0].PID != 0 {
		t.Errorf("the clients are %+v, want one without a PID", on)
	}
}
