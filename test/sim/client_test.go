// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// client starts a worker that is on the first GPU. Closing the pipe ends it.
func client(t *testing.T, m *sim.Machine, role string, attr *syscall.SysProcAttr) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := worker(t, role, m.Dir())
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the client says %q (%v)", line, err)
	}
	return cmd, in
}

// reachable lets every user come to the machine, as into a container's mount.
func reachable(t *testing.T, m *sim.Machine) {
	t.Helper()
	for dir := m.Dir(); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
}

// TestClientEnds: however a client ends, the machine knows at once, and the next
// change of it leaves no file behind.
func TestClientEnds(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, io.Closer) error{
		"by itself": func(cmd *exec.Cmd, in io.Closer) error { return errors.Join(in.Close(), cmd.Wait()) },
		"killed": func(cmd *exec.Cmd, _ io.Closer) error {
			err := cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := create(t, "A30-24")
			cmd, in := client(t, m, "client", nil)
			s := state(t, m)
			if len(s.Processes) != 1 || s.Processes[0].PID != cmd.Process.Pid || s.UsedMiB(s.GPUs[0].UUID) != 64 {
				t.Fatalf("the machine has %+v, want the client with 64 MiB", s.Processes)
			}
			if err := m.ReloadDriver(); err == nil || !strings.Contains(err.Error(), "in use") {
				t.Errorf("reload under a client: %v", err)
			}
			must(t, end(cmd, in))
			if s := state(t, m); len(s.Processes) != 0 {
				t.Errorf("after its end %+v is still there", s.Processes)
			}
			must(t, m.ReloadDriver())
			noClients(t, m)
		})
	}
}

func noClients(t *testing.T, m *sim.Machine) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(m.Dir(), "clients"))
	must(t, err)
	if len(files) > 0 {
		t.Errorf("%v is left of clients", files)
	}
}

// TestClientOfAnotherUser: a client may be anybody, who can change nothing else.
func TestClientOfAnotherUser(t *testing.T) {
	m := create(t, "A30-24")
	reachable(t, m)
	cmd, in := client(t, m, "client-of-nobody", nil)
	if s := state(t, m); len(s.Processes) != 1 || s.Processes[0].PID != cmd.Process.Pid {
		t.Errorf("the machine has %+v, want the client", s.Processes)
	}
	for _, file := range []string{"state.json", "lock", "root", "root.json", "."} {
		info, err := os.Stat(filepath.Join(m.Dir(), file))
		must(t, err)
		if info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %o: others may write it", file, info.Mode().Perm())
		}
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	must(t, m.Reboot())
	noClients(t, m)
}

// TestClientInAnotherPIDNamespace: the machine shows the PID that the reader knows
// the process by, as the driver shows a host's.
func TestClientInAnotherPIDNamespace(t *testing.T) {
	m := create(t, "A30-24")
	reachable(t, m)
	attr := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	cmd, _ := client(t, m, "client", attr)
	s := state(t, m)
	if len(s.Processes) != 1 || s.Processes[0].PID != cmd.Process.Pid {
		t.Errorf("the machine has %+v, want process %d", s.Processes, cmd.Process.Pid)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if s := state(t, m); len(s.Processes) != 0 {
		t.Errorf("after its end %+v is still there", s.Processes)
	}
}

// TestMachineEndsClients: a client is told by the machine what it has no more.
func TestMachineEndsClients(t *testing.T) {
	for name, do := range map[string]func(*sim.Machine) error{
		"the GPU is lost":       func(m *sim.Machine) error { return m.LoseGPU(0) },
		"lost and back":         func(m *sim.Machine) error { return errors.Join(m.LoseGPU(0), m.RestoreGPU(0)) },
		"the GPU is taken out":  func(m *sim.Machine) error { return m.RemoveGPU(0) },
		"somebody ends it":      func(m *sim.Machine) error { return m.KillProcess(os.Getpid()) },
		"the machine is reboot": func(m *sim.Machine) error { return m.Reboot() },
	} {
		t.Run(name, func(t *testing.T) {
			m := create(t, "A30-24", "T4")
			c, err := m.Enter()
			must(t, err)
			must(t, c.Change(onFirst(c)))
			before := state(t, m)
			if missing := c.Missing(&before); len(missing) != 0 || c.Gone(&before) {
				t.Fatalf("at first %+v is missing", missing)
			}
			must(t, do(m))
			s := state(t, m)
			if missing := c.Missing(&s); len(missing) != 1 || len(s.Processes) != 0 {
				t.Errorf("%+v is missing and the machine has %+v, want the process missing", missing, s.Processes)
			}
			if rebooted := s.Boots > 1; c.Gone(&s) != rebooted {
				t.Errorf("the client is gone: %t, want %t", c.Gone(&s), rebooted)
			}
			must(t, c.Leave())
		})
	}
}

// TestForgedClients: what any user may write does no harm to the machine.
func TestForgedClients(t *testing.T) {
	m := create(t, "A30-24", "H100-80")
	must(t, m.SetMIG(1, true))
	s := state(t, m)
	for name, e := range map[string]sim.Entry{
		"unknown GPU":     {PID: 1, Processes: []sim.Process{{PID: 1, UUID: "GPU-1", Kind: sim.Compute, Context: 1}}},
		"no context":      {PID: 1, Processes: []sim.Process{{PID: 1, UUID: s.GPUs[0].UUID, Kind: sim.Compute}}},
		"unknown kind":    {PID: 1, Processes: []sim.Process{{PID: 1, UUID: s.GPUs[0].UUID, Kind: "X", Context: 1}}},
		"negative pid":    {PID: 1, Processes: []sim.Process{{PID: -1, UUID: s.GPUs[0].UUID, Kind: sim.Compute, Context: 1}}},
		"too much memory": {PID: 1, Processes: []sim.Process{{PID: 1, UUID: s.GPUs[0].UUID, Kind: sim.Compute, Context: 1, MemoryMiB: 1 << 40}}},
		"a MIG parent":    {PID: 1, Processes: []sim.Process{{PID: 1, UUID: s.GPUs[1].UUID, Kind: sim.Compute, Context: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := m.Enter()
			must(t, err)
			must(t, c.Change(func(_ *sim.State, mine *sim.Entry) error { *mine = e; return nil }))
			if s := state(t, m); len(s.Processes) != 0 {
				t.Errorf("the machine took %+v", s.Processes)
			}
			must(t, m.XID(0, 31, nil, nil))
			must(t, c.Leave())
		})
	}
	dir := filepath.Join(m.Dir(), "clients")
	must(t, os.WriteFile(filepath.Join(dir, "text"), []byte("not JSON"), 0o600))
	must(t, os.Symlink("/proc/self/mem", filepath.Join(dir, "link")))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "directory"), 0o700))
	must(t, m.XID(0, 31, nil, nil))
	must(t, m.Check())
	must(t, m.Reboot())
	noClients(t, m)
}
