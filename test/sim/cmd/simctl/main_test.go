// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// simctl runs one command line.
func simctl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := newCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

// TestOperateAMachine is a session: each line is typed, then the machine is
// looked at.
func TestOperateAMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	out, err := simctl(t, "create", dir, "--driver", "580.65.06", "--cuda", "13.0", "--gpu", "A30-24", "--gpu", "T4,minor=5,numa=-1,pci=0001:02:00.0,pcieRoot=pci0001:00,moduleID=3,uuid=GPU-00000000-0000-0000-0000-000000000001")
	if err != nil || strings.TrimSpace(out) != filepath.Join(dir, "root") {
		t.Fatalf("create: %q, %v", out, err)
	}
	m, err := sim.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		line  string
		holds func(s sim.State) bool
	}{
		{"check", func(s sim.State) bool {
			g := s.GPUs[1]
			return s.Driver == "580.65.06" && s.CUDA == "13.0" && g.Minor == 5 && g.NUMA == -1 && g.PCI == "0001:02:00.0" &&
				g.PCIeRoot == "pci0001:00" && g.ModuleID == 3 && g.UUID == "GPU-00000000-0000-0000-0000-000000000001"
		}},
		{"process add --pid 7 --gpu 1 --memory 64 --kind M --virtual", func(s sim.State) bool {
			return len(s.Processes) == 1 && s.Processes[0].Kind == sim.MPS && s.Processes[0].MemoryMiB == 64
		}},
		{"process kill 7", func(s sim.State) bool { return len(s.Processes) == 0 }},
		{"xid 0 94 --gi 3 --ci 0", func(s sim.State) bool {
			e := s.Events[0]
			return e.Data == 94 && *e.GI == 3 && *e.CI == 0
		}},
		{"xid 0 31", func(s sim.State) bool { return s.Events[1].GI == nil }},
		{"lose 1", func(s sim.State) bool { return s.GPUs[1].Lost }},
		{"restore 1", func(s sim.State) bool { return !s.GPUs[1].Lost }},
		{"add L40S", func(s sim.State) bool { return len(s.GPUs) == 3 }},
		{"reorder 2,0,1 --renumber-minors", func(s sim.State) bool { return s.GPUs[0].Product == "L40S" && s.GPUs[0].Minor == 0 }},
		{"add H100-80,mig=on", func(s sim.State) bool { return s.GPUs[3].MIG == sim.MIGMode{Current: true, Pending: true} }},
		{"instance create 3 1g.20gb 6", func(s sim.State) bool { return len(s.GPUs[3].GIs) == 1 && len(s.GPUs[3].GIs[0].CIs) == 1 }},
		{"instance create 3 19 0 --without-compute-instance", func(s sim.State) bool { return len(s.GPUs[3].GIs) == 2 && len(s.GPUs[3].GIs[1].CIs) == 0 }},
		{"process add --pid 8 --gpu 3 --gi 6 --ci 0 --virtual", func(s sim.State) bool { return *s.Processes[0].GI == 6 && *s.Processes[0].CI == 0 }},
		{"show", func(sim.State) bool { return true }},
		{"process kill 8", func(s sim.State) bool { return len(s.Processes) == 0 }},
		{"instance destroy 3", func(s sim.State) bool { return len(s.GPUs[3].GIs) == 0 }},
		{"mig 3 off", func(s sim.State) bool { return !s.GPUs[3].MIG.Current }},
		{"mig 3 on", func(s sim.State) bool { return s.GPUs[3].MIG.Current }},
		{"instance create 3 9 4", func(s sim.State) bool { return len(s.GPUs[3].GIs) == 1 }},
		{"reset 3", func(s sim.State) bool { return len(s.GPUs[3].GIs) == 0 && s.GPUs[3].MIG.Current }},
		{"remove 3", func(s sim.State) bool { return len(s.GPUs) == 3 }},
		{"remove 0", func(s sim.State) bool { return len(s.GPUs) == 2 && s.GPUs[0].Product == "A30-24" }},
		{"reload-driver", func(s sim.State) bool { return s.Load == 2 && s.Boots == 1 }},
		{"reboot", func(s sim.State) bool { return s.Load == 3 && s.Boots == 2 }},
		{"compute-mode 0 EXCLUSIVE_PROCESS", func(s sim.State) bool { return s.GPUs[0].ComputeMode == sim.ComputeExclusiveProcess }},
		{"compute-mode 0 0", func(s sim.State) bool { return s.GPUs[0].ComputeMode == sim.ComputeDefault }},
		{"time-slice 0 2", func(s sim.State) bool { return s.GPUs[0].TimeSlice == 2 }},
		{"time-slice 0 0", func(s sim.State) bool { return s.GPUs[0].TimeSlice == 0 }},
		{"check --tidy", func(s sim.State) bool { return true }},
	} {
		if out, err := simctl(t, append(strings.Fields(step.line), "--state", dir)...); err != nil {
			t.Fatalf("simctl %s: %v\n%s", step.line, err, out)
		}
		s, err := m.State()
		if err != nil || !step.holds(s) {
			t.Errorf("after simctl %s the machine is %+v (%v)", step.line, s, err)
		}
	}
}

func TestFaults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	m, err := sim.Create(dir, sim.Config{GPUs: []sim.GPUConfig{{Product: "T4"}}})
	if err != nil {
		t.Fatal(err)
	}
	line := "fault add --id f --call nvmlDeviceGet* --gpu 0 --exe plugin --nth 2 --after 1 --return NVML_ERROR_GPU_IS_LOST --delay 2ms --xid 48"
	if _, err := simctl(t, append(strings.Fields(line), "--state", dir)...); err != nil {
		t.Fatal(err)
	}
	all, err := m.Faults()
	if err != nil || len(all) != 1 {
		t.Fatalf("faults: %+v, %v", all, err)
	}
	f := all[0]
	if f.Match.Call != "nvmlDeviceGet*" || *f.Match.GPU != 0 || f.Match.Exe != "plugin" || f.When != (sim.When{Nth: 2, After: 1}) ||
		*f.Do.Return != sim.GPUIsLost || f.Do.Delay.Milliseconds() != 2 || *f.Do.XID != 48 || f.Do.Hang || f.Do.LoseGPU {
		t.Errorf("the fault is %+v", f)
	}
	out, err := simctl(t, "fault", "list", "--state", dir)
	if err != nil || !strings.Contains(out, `"return": "GPU_IS_LOST"`) {
		t.Errorf("list: %v\n%s", err, out)
	}
	if _, err := simctl(t, "fault", "clear", "f", "--state", dir); err != nil {
		t.Error(err)
	}
	if all, err := m.Faults(); err != nil || len(all) != 0 {
		t.Errorf("after clear: %+v, %v", all, err)
	}
}

// TestOptions: what a machine is created with.
func TestOptions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	if _, err := simctl(t, "create", dir, "--gpu", "A100-40,mig=on", "--ids", "random", "--uuids", "fresh", "--reset-forbidden", "--linger", "2s", "--volatile-time-slice", "--mps-ignores-uuids"); err != nil {
		t.Fatal(err)
	}
	m, err := sim.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.State()
	want := sim.Options{IDs: sim.IDsRandom, UUIDs: sim.UUIDsFresh, ResetForbidden: true, Linger: 2 * time.Second,
		VolatileTimeSlice: true, MPSIgnoresUUIDs: true}
	if err != nil || s.Options != want || !s.GPUs[0].MIG.Current {
		t.Errorf("the machine is %+v (%v), want %+v with MIG on", s, err, want)
	}
	if _, err := simctl(t, "reset", "0", "--state", dir); err == nil {
		t.Error("a GPU was reset where that is forbidden")
	}
	if _, err := simctl(t, "fault", "add", "--call", "nvmlDeviceSetMigMode", "--activation", "IN_USE", "--state", dir); err != nil {
		t.Error(err)
	}
	if all, err := m.Faults(); err != nil || len(all) != 1 || all[0].Do.Activation == nil || *all[0].Do.Activation != sim.InUse {
		t.Errorf("faults: %+v, %v", all, err)
	}
	m.Change(sim.Call{Name: "nvmlDeviceSetMigMode"}, func(*sim.State) sim.Code { return sim.NoPermission })
	if out, err := simctl(t, "calls", "nvmlDeviceSet*", "--state", dir); err != nil || strings.TrimSpace(out) != "1" {
		t.Errorf("calls: %q, %v", out, err)
	}
	if out, err := simctl(t, "calls", "--state", dir); err != nil || !strings.Contains(out, `"call": "nvmlDeviceSetMigMode"`) {
		t.Errorf("calls: %q, %v", out, err)
	}
}

func TestShow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	if _, err := simctl(t, "create", dir, "--gpu", "A30-24"); err != nil {
		t.Fatal(err)
	}
	out, err := simctl(t, "show", "--state", dir)
	if err != nil {
		t.Fatal(err)
	}
	row := "0 A30-24 GPU-75120521-b3cc-5163-83a7-cda4885ce448 0000:65:01.0 0 0 ok"
	if !slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool { return strings.Join(strings.Fields(l), " ") == row }) {
		t.Errorf("no row %q in\n%s", row, out)
	}
	if _, err := simctl(t, "add", "RTX-PRO-6000,mig=on", "--state", dir); err != nil {
		t.Fatal(err)
	}
	if _, err := simctl(t, "instance", "create", "1", "1g.24gb", "3", "--state", dir); err != nil {
		t.Fatal(err)
	}
	out, err = simctl(t, "show", "--state", dir)
	if row := "1 4 1g.24gb 3:3 0 MIG-"; err != nil || !slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool { return strings.HasPrefix(strings.Join(strings.Fields(l), " "), row) }) {
		t.Errorf("no row %q in\n%s (%v)", row, out, err)
	}
	if out, err := simctl(t, "show", "--json", "--state", dir); err != nil || !strings.Contains(out, `"pcieRoot": "pci0000:64"`) {
		t.Errorf("--json: %v\n%s", err, out)
	}
}

// TestShowSharing: what sharing did to the machine is shown, and is not tidy.
func TestShowSharing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sim")
	m, err := sim.Create(dir, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
	if err != nil {
		t.Fatal(err)
	}
	group := t.TempDir()
	if err := os.WriteFile(filepath.Join(group, "cgroup.controllers"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.Change(sim.Call{Name: "nvmlDeviceSetMemoryLimits_v1"}, func(s *sim.State) sim.Code { return s.LimitMemory(&s.GPUs[0], group, 0, 1<<30) })
	c, err := m.Enter()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Leave()
	err = c.Change(func(_ *sim.State, e *sim.Entry) error {
		e.Daemon = &sim.MPSDaemon{Devices: []string{"GPU-a", "GPU-b"}, PipeDirectory: "/pipe"}
		e.Server = &sim.MPSServer{Daemon: 17, Devices: []string{"GPU-a"}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"compute-mode 0 PROHIBITED", "time-slice 0 3"} {
		if _, err := simctl(t, append(strings.Fields(line), "--state", dir)...); err != nil {
			t.Fatal(err)
		}
	}
	out, err := simctl(t, "show", "--state", dir)
	words := strings.Join(strings.Fields(out), " ")
	pid := strconv.Itoa(os.Getpid())
	for _, row := range []string{
		"ok, PROHIBITED, time-slice 3", "0 0 1024 " + group, "daemon " + pid + " - GPU-a,GPU-b /pipe", "server " + pid + " 17 GPU-a -",
	} {
		if err != nil || !strings.Contains(words, row) {
			t.Errorf("no row %q in\n%s (%v)", row, out, err)
		}
	}
	if _, err := simctl(t, "check", "--state", dir); err != nil {
		t.Error(err)
	}
	_, err = simctl(t, "check", "--tidy", "--state", dir)
	for _, left := range []string{"PROHIBITED", "time-slice 3", group, "daemon", "server"} {
		if err == nil || !strings.Contains(err.Error(), left) {
			t.Errorf("check --tidy: %v, want that it tells of %q", err, left)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for line, say := range map[string]string{
		"create %s --gpu A31":           "A30-24",
		"create %s --gpu T4,color=red":  "numa=N",
		"create %s --gpu T4,numa=x":     "numa",
		"create %s --gpu H100-80,mig=1": "want on or off",
		"create %s --ids odd":           "random",
		"create %s --uuids odd":         "fresh",
		"create %s --linger -1s":        "negative",
		"create %s --gpu T4,mig=on":     "has none",
		"reboot --state %s":             "simctl create",
		"compute-mode 0 odd --state %s": "simctl create",
		"lose first --state /":          "simctl create",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "%s", filepath.Join(t.TempDir(), "none")))
		if _, err := simctl(t, args...); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("simctl %s: %v, want an error that says %q", line, err, say)
		}
	}
}
