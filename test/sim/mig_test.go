// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// partitioned is a machine of one product with MIG on, checked when the test ends.
func partitioned(t *testing.T, cfg sim.Config, products ...string) *sim.Machine {
	t.Helper()
	for _, p := range products {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p, MIG: true})
	}
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), cfg)
	must(t, err)
	t.Cleanup(func() {
		if err := m.Check(); err != nil {
			t.Errorf("after the test: %v", err)
		}
	})
	return m
}

// TestCapabilities: the driver root shows an instance from the operation that
// makes it to the one that destroys it, with the minors that real machines show.
func TestCapabilities(t *testing.T) {
	m := partitioned(t, sim.Config{}, "H100-80", "A30-24")
	gone := func(path string) {
		t.Helper()
		if _, err := os.Lstat(filepath.Join(m.Root(), path)); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	const gpu1 = "proc/driver/nvidia/capabilities/gpu1/mig"
	must(t, m.CreateInstance(1, 14, 2, false))
	capability(t, m, "proc/driver/nvidia/capabilities/mig/config", 1, 256)
	capability(t, m, "proc/driver/nvidia/capabilities/mig/monitor", 2, 256)
	capability(t, m, gpu1+"/gi5/access", 3+135+5*9, 292)
	gone(gpu1 + "/gi5/ci0")
	must(t, m.CreateInstance(0, 19, 0, true))
	capability(t, m, "proc/driver/nvidia/capabilities/gpu0/mig/gi7/access", 66, 292)
	capability(t, m, "proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0/access", 67, 292)
	minors, err := os.ReadFile(filepath.Join(m.Root(), "proc/driver/nvidia-caps/mig-minors"))
	must(t, err)
	for _, line := range []string{"config 1\n", "monitor 2\n", "gpu0/gi0/access 3\n", "gpu0/gi0/ci0/access 4\n", "gpu0/gi7/access 66\n", "gpu1/gi0/access 138\n"} {
		if !strings.Contains(string(minors), line) {
			t.Errorf("mig-minors has no line %q", line)
		}
	}
	must(t, m.DestroyInstances(0))
	gone("proc/driver/nvidia/capabilities/gpu0/mig/gi7")
	gone("dev/nvidia-caps/nvidia-cap66")
	must(t, m.SetMIG(0, false))
	gone("proc/driver/nvidia/capabilities/gpu0")
	must(t, m.Reboot())
	gone(gpu1 + "/gi5")
}

// capability expects a capability's file in the kernel's format, and its node.
func capability(t *testing.T, m *sim.Machine, path string, minor uint32, mode int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.Root(), path))
	if want := fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: %d\nDeviceFileModify: 1\n", minor, mode); err != nil || string(b) != want {
		t.Errorf("%s is %q (%v), want %q", path, b, err, want)
	}
	var st unix.Stat_t
	node := fmt.Sprintf("dev/nvidia-caps/nvidia-cap%d", minor)
	if err := unix.Stat(filepath.Join(m.Root(), node), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		t.Errorf("%s is no device (%v)", node, err)
		return
	}
	if os.Geteuid() == 0 && (unix.Minor(st.Rdev) != minor || int(st.Mode&0o777) != mode) {
		t.Errorf("%s has minor %d and mode %o, want %d and %o", node, unix.Minor(st.Rdev), st.Mode&0o777, minor, mode)
	}
	devices, err := os.ReadFile(filepath.Join(m.Root(), "proc/devices"))
	must(t, err)
	if os.Geteuid() == 0 && !strings.Contains(string(devices), fmt.Sprintf("%3d nvidia-caps\n", unix.Major(st.Rdev))) {
		t.Errorf("%s has major %d, which /proc/devices does not call nvidia-caps", node, unix.Major(st.Rdev))
	}
}

// TestByHand: what somebody with nvidia-smi does, and what he is refused.
func TestByHand(t *testing.T) {
	m := partitioned(t, sim.Config{}, "H100-80")
	_, err := m.AddGPU(sim.GPUConfig{Product: "T4"})
	must(t, err)
	must(t, m.CreateInstance(0, 15, 6, true))
	must(t, m.AddProcess(sim.Process{PID: 5, GI: new(6), CI: new(0), Virtual: true}))
	for what, c := range map[string]struct {
		err error
		say string
	}{
		"an occupied place":           {m.CreateInstance(0, 19, 6, true), "INSUFFICIENT_RESOURCES"},
		"MIG on a T4":                 {m.CreateInstance(1, 19, 6, true), "NOT_SUPPORTED"},
		"no such GPU":                 {m.CreateInstance(2, 19, 6, true), "no GPU 2"},
		"destroying a busy instance":  {m.DestroyInstances(0), "process 5"},
		"switching a busy GPU":        {m.SetMIG(0, false), "process 5"},
		"resetting a busy GPU":        {m.ResetGPU(0), "process 5"},
		"switching a T4":              {m.SetMIG(1, true), "has no MIG"},
		"a process beside instances":  {m.AddProcess(sim.Process{PID: 6, Virtual: true}), "name a GPU instance"},
		"a process nowhere":           {m.AddProcess(sim.Process{PID: 6, GI: new(1), CI: new(0), Virtual: true}), "not there"},
		"a process on a T4's":         {m.AddProcess(sim.Process{PID: 6, GPU: 1, GI: new(1), CI: new(0), Virtual: true}), "MIG off"},
		"more memory than the 1g has": {m.AddProcess(sim.Process{PID: 6, GI: new(6), CI: new(0), MemoryMiB: 20097, Virtual: true}), "it has 20096"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.say) {
			t.Errorf("%s: %v, want an error that says %q", what, c.err, c.say)
		}
	}
	if s := state(t, m); len(s.GPUs[0].GIs) != 1 || len(s.GPUs[0].GIs[0].CIs) != 1 {
		t.Errorf("what was refused left %+v", s.GPUs[0].GIs)
	}
	must(t, m.KillProcess(5))
	must(t, m.ResetGPU(0))
	if s := state(t, m); len(s.GPUs[0].GIs) != 0 || !s.GPUs[0].MIG.Current {
		t.Errorf("after a reset the GPU is %+v", s.GPUs[0])
	}
	must(t, m.SetMIG(0, false))
	must(t, m.SetMIG(0, false))
	must(t, m.LoseGPU(0))
	for what, err := range map[string]error{"create": m.CreateInstance(0, 19, 0, true), "switch": m.SetMIG(0, true), "reset": m.ResetGPU(0)} {
		if err == nil || !strings.Contains(err.Error(), "off the bus") {
			t.Errorf("%s on a lost GPU: %v", what, err)
		}
	}
}

// TestLinger: what a workload was on stays in use for a while after its end, a
// real workload's as well, however often its end is looked at.
func TestLinger(t *testing.T) {
	destroy := func(m *sim.Machine) sim.Code {
		return m.Change(sim.Call{Name: "nvmlComputeInstanceDestroy"}, func(s *sim.State) sim.Code {
			g := &s.GPUs[0]
			return s.DestroyCI(g, &g.GIs[0], &g.GIs[0].CIs[0])
		})
	}
	long := partitioned(t, sim.Config{Linger: time.Hour}, "A30-24")
	must(t, long.CreateInstance(0, 14, 0, true))
	must(t, long.AddProcess(sim.Process{PID: 5, GI: new(3), CI: new(0), Virtual: true}))
	must(t, long.KillProcess(5))
	if code := destroy(long); code != sim.InUse {
		t.Errorf("destroy with an hour to go: %s", code)
	}
	must(t, long.Reboot())

	short := partitioned(t, sim.Config{Linger: 50 * time.Millisecond}, "A30-24")
	must(t, short.CreateInstance(0, 14, 0, true))
	cmd := exec.Command("sleep", "600")
	must(t, cmd.Start())
	must(t, short.AddProcess(sim.Process{PID: cmd.Process.Pid, GI: new(3), CI: new(0)}))
	must(t, cmd.Process.Kill())
	if _, err := cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	code, tries := destroy(short), 1
	for deadline := time.Now().Add(10 * time.Second); code == sim.InUse && time.Now().Before(deadline); tries++ {
		code = destroy(short)
	}
	if code != sim.Success || tries < 2 {
		t.Errorf("destroy answered %s after %d tries, want SUCCESS after some IN_USE", code, tries)
	}
}

// TestCallLog: the calls that may change something are counted, over processes,
// whatever came of them.
func TestCallLog(t *testing.T) {
	m := create(t, "A30-24")
	const set = "nvmlDeviceSetComputeMode"
	if n := m.Calls(set); n != 0 {
		t.Errorf("%d calls at first", n)
	}
	m.Change(sim.Call{Name: set}, func(*sim.State) sim.Code { return sim.NoPermission })
	m.Query(sim.Call{Name: "nvmlDeviceGetName"}, func(*sim.State) sim.Code { return sim.Success })
	must(t, m.Inject(sim.Fault{Match: sim.Match{Call: set, Exe: "*.test"}, Do: sim.Do{CrashBefore: true}}))
	if err := worker(t, "crash", m.Dir()).Run(); err == nil {
		t.Error("the worker lives")
	}
	if m.Calls(set) != 2 || m.Calls("nvmlDeviceSet*") != 2 || m.Calls("nvmlDeviceGetName") != 0 {
		log, err := m.CallLog()
		t.Errorf("the log is %+v (%v), want two calls", log, err)
	}
}

func TestFaultActivationIsOfOneCall(t *testing.T) {
	m := create(t, "A30-24")
	err := m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetComputeMode"}, Do: sim.Do{Activation: new(sim.InUse)}})
	if err == nil || !strings.Contains(err.Error(), "nvmlDeviceSetMigMode") {
		t.Errorf("an activation of another call: %v", err)
	}
	if err := m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetMigMode"}, Do: sim.Do{Activation: new(sim.InUse), Return: new(sim.InUse)}}); err == nil {
		t.Error("a call that fails and activates was taken")
	}
}
