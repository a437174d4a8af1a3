// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// container is a machine, the part of its dev that a container was given, and the
// environment of a program in it.
type container struct {
	*testing.T
	m   *sim.Machine
	env map[string]string
}

// newContainer has an A30, an H100 and a GB10, and was given those with the minors.
func newContainer(t *testing.T, minors ...string) container {
	t.Helper()
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{
		GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "H100-80"}, {Product: "GB10"}},
	})
	must(t, err)
	c := container{t, m, map[string]string{
		"COTENANT_SIM_STATE": m.Dir(), "COTENANT_SIM_DEV": t.TempDir(), "CUDA_MPS_PIPE_DIRECTORY": t.TempDir(),
	}}
	for _, minor := range append([]string{"ctl"}, minors...) {
		c.give("nvidia" + minor)
	}
	t.Cleanup(func() { must(t, m.Check()) })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// give gives the container a node. As a bind mount would, a link shows the same.
func (c container) give(node string) {
	c.Helper()
	at := filepath.Join(c.env["COTENANT_SIM_DEV"], node)
	must(c.T, os.MkdirAll(filepath.Dir(at), 0o755))
	must(c.T, os.Symlink(filepath.Join(c.m.Root(), "dev", node), at))
}

// giveMIG makes an instance of all of the H100's slices from start, and gives it.
func (c container) giveMIG(profile, start int) string {
	c.Helper()
	must(c.T, c.m.CreateInstance(1, profile, start, true))
	s, err := c.m.State()
	must(c.T, err)
	gi := s.GPUs[1].GIs[len(s.GPUs[1].GIs)-1]
	for _, minor := range []int{sim.CapabilityGI(1, gi.ID), sim.CapabilityCI(1, gi.ID, gi.CIs[0].ID)} {
		c.give(fmt.Sprintf("nvidia-caps/nvidia-cap%d", minor))
	}
	return gi.CIs[0].UUID
}

// uuid is that of a GPU.
func (c container) uuid(i int) string {
	c.Helper()
	s, err := c.m.State()
	must(c.T, err)
	return s.GPUs[i].UUID
}

// run runs a command line to its end and returns what it says.
func (c container) run(line string) (event, int) {
	c.Helper()
	var out strings.Builder
	code := 0
	cmd := newCommand(func(k string) string { return c.env[k] }, &code)
	cmd.SetArgs(strings.Fields(line))
	cmd.SetOut(&out)
	cmd.SetIn(strings.NewReader(""))
	must(c.T, cmd.Execute())
	var e event
	if err := json.Unmarshal([]byte(out.String()), &e); err != nil {
		c.Fatalf("%s says %q: %v", line, out.String(), err)
	}
	return e, code
}

// held is a program that runs.
type held struct {
	container
	in    io.WriteCloser
	lines *bufio.Reader
	code  chan int
}

func (c container) hold(line string) *held {
	c.Helper()
	inRead, in := io.Pipe()
	outRead, out := io.Pipe()
	h := &held{c, in, bufio.NewReader(outRead), make(chan int, 1)}
	code := 0
	cmd := newCommand(func(k string) string { return c.env[k] }, &code)
	cmd.SetArgs(append(strings.Fields(line), "--hold"))
	cmd.SetIn(inRead)
	cmd.SetOut(out)
	go func() {
		if err := cmd.Execute(); err != nil {
			code = 2
		}
		h.code <- code
		_ = out.Close()
	}()
	return h
}

// next is what the program says next.
func (h *held) next() event {
	h.Helper()
	line := make(chan event, 1)
	go func() {
		defer close(line)
		var e event
		if b, err := h.lines.ReadBytes('\n'); err == nil && json.Unmarshal(b, &e) == nil {
			line <- e
		}
	}()
	select {
	case e, ok := <-line:
		if !ok {
			h.Fatal("the program says no more")
		}
		return e
	case <-time.After(20 * time.Second):
		h.Fatal("the program says nothing")
	}
	return event{}
}

func (h *held) tell(line string) event {
	h.Helper()
	_, err := fmt.Fprintln(h.in, line)
	must(h.T, err)
	return h.next()
}

// exit ends the program and expects its code.
func (h *held) exit(want int) {
	h.Helper()
	_, err := fmt.Fprintln(h.in, "exit")
	must(h.T, err)
	if got := <-h.code; got != want {
		h.Errorf("exit code %d, want %d", got, want)
	}
}

func TestDevicesAreThoseOfTheContainer(t *testing.T) {
	c := newContainer(t, "0", "2")
	if e, _ := c.run("list"); len(e.Devices) != 2 || e.Devices[0].UUID != c.uuid(0) || e.Devices[1].UUID != c.uuid(2) || e.Devices[1].Index != 1 {
		t.Errorf("the devices are %+v", e.Devices)
	}
	for visible, want := range map[string][]int{
		"1": {2}, "1,0": {2, 0}, "0,7,1": {0}, "-1": nil, c.uuid(2)[:12]: {2}, "GPU-none": nil, c.uuid(0) + ", " + c.uuid(2): {0, 2},
	} {
		c.env["CUDA_VISIBLE_DEVICES"] = visible
		e, _ := c.run("list")
		var got, wanted []string
		for _, d := range e.Devices {
			got = append(got, d.UUID)
		}
		for _, i := range want {
			wanted = append(wanted, c.uuid(i))
		}
		if strings.Join(got, ",") != strings.Join(wanted, ",") {
			t.Errorf("CUDA_VISIBLE_DEVICES=%s: %q, want %q", visible, got, wanted)
		}
	}
	if e, code := newContainer(t).run("run"); code != 1 || e.Error != sim.CUDANoDevice {
		t.Errorf("without a device: exit %d, %+v", code, e)
	}
}

func TestRunTakesMemory(t *testing.T) {
	c := newContainer(t, "0")
	h := c.hold("run --memory 2Gi --name tenant")
	e := h.next()
	d := e.Devices[0]
	if e.Event != "started" || e.MPS != nil || e.Outside == "" || e.PID != os.Getpid() || *e.UID != os.Getuid() ||
		d.MemoryMiB != 24576 || d.Multiprocessors != 56 || d.ThreadPercentage != 100 || d.AllocatedMiB != 2048 || d.LimitMiB != 0 || d.Error != "" {
		t.Errorf("it says %+v", e)
	}
	s, err := c.m.State()
	must(t, err)
	if p := s.Processes; len(p) != 1 || p[0].MemoryMiB != 2048 || p[0].Name != "tenant" || p[0].Kind != sim.Compute {
		t.Errorf("the machine has %+v", p)
	}
	if e := h.tell("alloc 512Mi"); e.Event != "allocated" || e.Devices[0].AllocatedMiB != 2560 {
		t.Errorf("more: %+v", e)
	}
	if e := h.tell("alloc 100Gi 0"); e.Devices[0].Error != sim.CUDAOutOfMemory || e.Devices[0].AllocatedMiB != 2560 {
		t.Errorf("too much: %+v", e)
	}
	if e := h.tell("alloc 1Mi " + c.uuid(0)); e.Devices[0].Error != "" || e.Devices[0].AllocatedMiB != 2561 {
		t.Errorf("a little after too much: %+v", e)
	}
	if e := h.tell("free"); e.Event != "freed" || e.Devices[0].AllocatedMiB != 0 {
		t.Errorf("free: %+v", e)
	}
	for _, line := range []string{"alloc much", "alloc 1Mi 7", "dance"} {
		if e := h.tell(line); e.Event != "error" || e.Error != sim.CUDAInvalidValue {
			t.Errorf("%s: %+v", line, e)
		}
	}
	h.exit(0)
	if e, code := c.run("run --memory 100Gi"); code != 1 || e.Devices[0].Error != sim.CUDAOutOfMemory {
		t.Errorf("too much from the start: exit %d, %+v", code, e)
	}
}

func TestMIGDevices(t *testing.T) {
	c := newContainer(t, "1")
	must(t, c.m.SetMIG(1, true))
	must(t, c.m.CreateInstance(1, 19, 0, true)) // somebody else's
	uuid := c.giveMIG(9, 4)
	h := c.hold("run --memory 1Gi")
	e := h.next()
	if len(e.Devices) != 1 || e.Devices[0].UUID != uuid || e.Devices[0].MemoryMiB != 40448 || e.Devices[0].Multiprocessors != 60 || e.Devices[0].AllocatedMiB != 1024 {
		t.Errorf("it says %+v", e)
	}
	if err := c.m.DestroyInstances(1); err == nil {
		t.Error("an instance in use was destroyed")
	}
	if e := h.tell("alloc 40Gi"); e.Devices[0].Error != sim.CUDAOutOfMemory {
		t.Errorf("more than the instance has: %+v", e)
	}
	h.exit(0)
	must(t, c.m.DestroyInstances(1))
}

func TestComputeMode(t *testing.T) {
	c := newContainer(t, "0")
	must(t, c.m.PresetComputeMode(0, sim.ComputeExclusiveProcess))
	h := c.hold("run")
	if e := h.next(); e.Devices[0].Error != "" || e.Devices[0].ComputeMode != "EXCLUSIVE_PROCESS" {
		t.Errorf("the first process: %+v", e)
	}
	if e, code := c.run("run --memory 1Mi"); code != 1 || e.Devices[0].Error != sim.CUDADeviceUnavailable || e.Devices[0].AllocatedMiB != 0 {
		t.Errorf("the second process: exit %d, %+v", code, e)
	}
	h.exit(0)
	must(t, c.m.PresetComputeMode(0, sim.ComputeProhibited))
	if e, code := c.run("run"); code != 1 || e.Devices[0].Error != sim.CUDADeviceUnavailable {
		t.Errorf("prohibited: exit %d, %+v", code, e)
	}
	s, err := c.m.State()
	must(t, err)
	if len(s.Processes) != 0 {
		t.Errorf("who was refused is on the GPU: %+v", s.Processes)
	}
}

func TestCgroupLimit(t *testing.T) {
	c := newContainer(t, "0")
	group := t.TempDir()
	must(t, os.WriteFile(filepath.Join(group, "cgroup.controllers"), nil, 0o600))
	leaf := filepath.Join(group, "leaf")
	must(t, os.Mkdir(leaf, 0o755))
	must(t, os.WriteFile(filepath.Join(leaf, "cgroup.controllers"), nil, 0o600))
	c.m.Change(sim.Call{Name: "nvmlDeviceSetMemoryLimits_v1"}, func(s *sim.State) sim.Code {
		return s.LimitMemory(&s.GPUs[0], group, 0, 1<<30)
	})
	for at, limited := range map[string]bool{group: true, leaf: true, t.TempDir(): false} {
		c.env["COTENANT_SIM_CGROUP"] = at
		e, _ := c.run("run --memory 1025Mi")
		if d := e.Devices[0]; (d.Error == sim.CUDAOutOfMemory) != limited || (d.CgroupLimitMiB == 1024) != limited {
			t.Errorf("in %s: %+v, want a limit: %t", at, d, limited)
		}
		if e, code := c.run("run --memory 1Gi"); code != 0 {
			t.Errorf("in %s within the limit: %+v", at, e)
		}
	}
}

func TestLosses(t *testing.T) {
	for name, l := range map[string]struct {
		lose func(*held) error
		want sim.CUDAError
	}{
		"GPU lost":        {func(h *held) error { return h.m.LoseGPU(0) }, sim.CUDAUnknown},
		"ended":           {func(h *held) error { return h.m.KillProcess(os.Getpid()) }, sim.CUDAContextIsDestroyed},
		"fault":           {func(h *held) error { _, err := fmt.Fprintln(h.in, "fault"); return err }, sim.CUDALaunchFailed},
		"fault by signal": {func(*held) error { return syscall.Kill(os.Getpid(), syscall.SIGUSR1) }, sim.CUDALaunchFailed},
	} {
		t.Run(name, func(t *testing.T) {
			c := newContainer(t, "0")
			h := c.hold("run --memory 1Gi --fault-on SIGUSR1")
			h.next()
			must(t, l.lose(h))
			if e := h.next(); e.Event != "lost" || e.Error != l.want {
				t.Errorf("it says %+v, want the loss by %s", e, l.want)
			}
			if e := h.tell("alloc 1Mi"); e.Devices[0].Error == "" {
				t.Errorf("it goes on: %+v", e)
			}
			h.exit(1)
			s, err := c.m.State()
			must(t, err)
			if len(s.Processes) != 0 {
				t.Errorf("it is still on a GPU: %+v", s.Processes)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	c := newContainer(t, "0")
	for line, say := range map[string]string{
		"run --memory 1G":        "512Mi",
		"run --fault-on SIGNONE": "SIGUSR1",
	} {
		code := 0
		cmd := newCommand(func(k string) string { return c.env[k] }, &code)
		cmd.SetArgs(strings.Fields(line))
		cmd.SetOut(io.Discard)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want an error that says %q", line, err, say)
		}
	}
	c.env["COTENANT_SIM_STATE"] = t.TempDir()
	code := 0
	cmd := newCommand(func(k string) string { return c.env[k] }, &code)
	cmd.SetArgs([]string{"run"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "simctl create") {
		t.Errorf("without a machine: %v", err)
	}
}
