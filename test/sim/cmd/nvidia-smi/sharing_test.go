// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// sharing has GPUs of those products, all of them given to the container.
func sharing(t *testing.T, driver string, products ...string) container {
	t.Helper()
	cfg := sim.Config{Driver: driver}
	for _, p := range products {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p})
	}
	return newHost(t, cfg)
}

// gpu is one of the machine's.
func (c container) gpu(t *testing.T, i int) sim.GPU {
	t.Helper()
	s, err := c.m.State()
	if err != nil {
		t.Fatal(err)
	}
	return s.GPUs[i]
}

func TestComputeMode(t *testing.T) {
	c := sharing(t, "", "A30-24", "H100-80")
	if err := c.m.SetMIG(1, true); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args string
		uid  int
		want string
		code int
		mode int
	}{
		{"-i 0 -c EXCLUSIVE_PROCESS", 0, "Set compute mode to EXCLUSIVE_PROCESS for GPU 00000000:65:01.0.\nAll done.\n", 0, sim.ComputeExclusiveProcess},
		{"-c 2 -i " + uuid0, 0, "Set compute mode to PROHIBITED for GPU 00000000:65:01.0.\nAll done.\n", 0, sim.ComputeProhibited},
		{"-i 0 --compute-mode=0", 1000, "Unable to set the compute mode for GPU 00000000:65:01.0: Insufficient Permissions\nTerminating early due to previous errors.\n", 4, sim.ComputeProhibited},
		{"-i 1 -c 3", 0, "Unable to set the compute mode for GPU 00000000:75:01.0: Not Supported\nTerminating early due to previous errors.\n", 3, sim.ComputeProhibited},
		{"-i 0 -c 1", 0, "Invalid compute mode \"1\". Specify 0/DEFAULT, 2/PROHIBITED or 3/EXCLUSIVE_PROCESS.\n", 2, sim.ComputeProhibited},
		{"-i 0 -c DEFAULT", 0, "Set compute mode to DEFAULT for GPU 00000000:65:01.0.\nAll done.\n", 0, sim.ComputeDefault},
	} {
		c.uid = step.uid
		out, code := c.smi(strings.Fields(step.args)...)
		expect(t, step.args, out, code, step.want, step.code)
		if mode := c.gpu(t, 0).ComputeMode; mode != step.mode {
			t.Errorf("after %s the mode is %d, want %d", step.args, mode, step.mode)
		}
	}
	// As one that is refused for want of rights never reaches the driver.
	if n := c.m.Calls("nvmlDeviceSetComputeMode"); n != 4 {
		t.Errorf("%d calls were counted, want 4", n)
	}
}

func TestComputePolicy(t *testing.T) {
	c := sharing(t, "", "A30-24", "P4", "H100-80")
	if err := c.m.SetMIG(2, true); err != nil {
		t.Fatal(err)
	}
	if err := c.m.CreateInstance(2, 9, 0, true); err != nil {
		t.Fatal(err)
	}
	mig := c.gpu(t, 2).GIs[0].CIs[0].UUID
	refused := func(gpu, why string) string {
		return "Failed to set timeslice policy with value Short for GPU " + gpu + " : " + why + "\nFailed to set timeslice for requested devices : " + why + "\n"
	}
	for _, step := range []struct {
		args  string
		uid   int
		want  string
		code  int
		slice int
	}{
		{"compute-policy -i 0 --set-timeslice 2", 0, "Successfully set timeslice policy with value Medium for GPU 0\n", 0, 2},
		{"compute-policy --set-timeslice=3 -i " + uuid0, 0, "Successfully set timeslice policy with value Long for GPU 0\n", 0, 3},
		{"compute-policy -i 0 --set-timeslice 1", 1000, refused("0", "Insufficient Permissions"), 4, 3},
		{"compute-policy -i 1 --set-timeslice 1", 0, refused("1", "Not Supported"), 3, 3},
		{"compute-policy -i 2 --set-timeslice 1", 0, refused("2", "Not Supported"), 3, 3},
		{"compute-policy -i " + mig + " --set-timeslice 1", 0, "MIG device " + mig + ": Not Supported\n", 3, 3},
		{"compute-policy -i 0 --set-timeslice 4", 0, "Invalid timeslice value \"4\". Specify 0 (Default), 1 (Short), 2 (Medium) or 3 (Long).\n", 2, 3},
		{"compute-policy -i 0 --set-timeslice -1", 0, "Invalid timeslice value \"-1\". Specify 0 (Default), 1 (Short), 2 (Medium) or 3 (Long).\n", 2, 3},
		{"compute-policy -i 0", 0, "Specify either -l or --set-timeslice with nvidia-smi compute-policy.\n", 2, 3},
		{"-i 0 compute-policy --set-timeslice 1", 0, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help. (compute-policy)\n", 2, 3},
		{"compute-policy -i 9 --set-timeslice 1", 0, "No devices were found\n", 6, 3},
		{"compute-policy -i 0 --set-timeslice 0", 0, "Successfully set timeslice policy with value Default for GPU 0\n", 0, 0},
	} {
		c.uid = step.uid
		out, code := c.smi(strings.Fields(step.args)...)
		expect(t, step.args, out, code, step.want, step.code)
		if slice := c.gpu(t, 0).TimeSlice; slice != step.slice {
			t.Errorf("after %s the time-slice is %d, want %d", step.args, slice, step.slice)
		}
	}
	if n := c.m.Calls(sim.SetTimeSliceCall); n != 5 {
		t.Errorf("%d calls were counted, want 5", n)
	}
}

func TestListComputePolicies(t *testing.T) {
	c := sharing(t, "", "A30-24", "P4")
	if err := c.m.PresetTimeSlice(0, 2); err != nil {
		t.Fatal(err)
	}
	c.uid = 1000
	out, code := c.smi("compute-policy", "-l")
	for _, row := range []string{"0 timeslice Medium", "1 timeslice [N/A]"} {
		if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "| "+row+" |") {
			t.Errorf("exit %d, no row %q in\n%s", code, row, out)
		}
	}
}

// TestTimeSliceFault: setting one is a call that a fault can strike.
func TestTimeSliceFault(t *testing.T) {
	c := sharing(t, "", "A30-24")
	why := sim.Unknown
	if err := c.m.Inject(sim.Fault{Match: sim.Match{Call: sim.SetTimeSliceCall}, Do: sim.Do{Return: &why}}); err != nil {
		t.Fatal(err)
	}
	if out, code := c.smi("compute-policy", "--set-timeslice", "1"); code != int(sim.Unknown) || c.gpu(t, 0).TimeSlice != 0 {
		t.Errorf("exit %d, time-slice %d\n%s", code, c.gpu(t, 0).TimeSlice, out)
	}
}

func TestMemoryLimits(t *testing.T) {
	c := sharing(t, "615.10", "H100-80")
	group := t.TempDir()
	if err := os.WriteFile(filepath.Join(group, "cgroup.controllers"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args string
		uid  int
		want string
		code int
	}{
		{"-i 0 -n " + group, 1000, "GPU 0, " + group + ": soft limit 0 MiB, hard limit unlimited, used 0 MiB\n", 0},
		{"-i 0 -n " + group + " --soft-limit 1024 --hard-limit 2048", 0, "GPU 0, " + group + ": soft limit 1024 MiB, hard limit 2048 MiB, used 0 MiB\n", 0},
		{"-i 0 -n " + group + " --hard-limit 1", 1000, "Failed to set memory limits for GPU 0 : Insufficient Permissions\n", 4},
		{"-i 0 -n " + group + " --hard-limit 999999", 0, "Failed to set memory limits for GPU 0 : Invalid Argument\n", 2},
		{"-i 0 -n /nowhere --hard-limit 1", 0, "Failed to set memory limits for GPU 0 : The operating system has blocked the request.\n", 17},
		{"-i 0 --hard-limit 1", 0, "Specify a GPU with -i and a control group with -n for nvidia-smi memory-limits.\n", 2},
		{"-i 0 -n " + group + " --hard-limit 1G", 0, "Option --hard-limit has the value \"1G\", which is not a number of MiB.\n", 2},
		{"-i 0 -n " + group + " --soft-limit 0", 0, "GPU 0, " + group + ": soft limit 0 MiB, hard limit unlimited, used 0 MiB\n", 0},
	} {
		c.uid = step.uid
		out, code := c.smi(append([]string{"memory-limits"}, strings.Fields(step.args)...)...)
		expect(t, step.args, out, code, step.want, step.code)
	}
	old := sharing(t, "580.65.06", "H100-80")
	out, code := old.smi("memory-limits", "-i", "0", "-n", group)
	expect(t, "of an older driver", out, code, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help. (memory-limits)\n", 2)
}
