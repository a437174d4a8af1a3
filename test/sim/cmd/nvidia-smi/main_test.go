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

// container is a machine and the part of its dev that a container was given.
type container struct {
	m   *sim.Machine
	dev string
	uid int // of who runs the tool in it
}

// newContainer has two A30s and a GB10, of which the container was given those with the minors.
func newContainer(t *testing.T, minors ...string) container {
	t.Helper()
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{
		GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "A30-24"}, {Product: "GB10"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dev := t.TempDir()
	for _, node := range append([]string{"ctl"}, minors...) {
		// As a bind mount would, a link shows the same node.
		if err := os.Symlink(filepath.Join(m.Root(), "dev/nvidia"+node), filepath.Join(dev, "nvidia"+node)); err != nil {
			t.Fatal(err)
		}
	}
	return container{m: m, dev: dev}
}

func (c container) smi(args ...string) (string, int) {
	env := map[string]string{"COTENANT_SIM_STATE": c.m.Dir(), "COTENANT_SIM_DEV": c.dev}
	var out strings.Builder
	code := run(args, caller{func(k string) string { return env[k] }, c.uid}, &out, &out)
	return out.String(), code
}

func expect(t *testing.T, what, out string, code int, wantOut string, wantCode int) {
	t.Helper()
	if out != wantOut || code != wantCode {
		t.Errorf("%s: exit %d with\n%s\nwant exit %d with\n%s", what, code, out, wantCode, wantOut)
	}
}

const (
	uuid0 = "GPU-75120521-b3cc-5163-83a7-cda4885ce448"
	uuid1 = "GPU-50185046-4d5a-548a-8fce-0153595e523e"
)

func TestListShowsWhatTheContainerMayOpen(t *testing.T) {
	line := func(i, uuid string) string { return "GPU " + i + ": NVIDIA A30 (UUID: " + uuid + ")\n" }
	for name, c := range map[string]struct {
		minors []string
		want   string
		code   int
	}{
		"both":       {[]string{"0", "1"}, line("0", uuid0) + line("1", uuid1), 0},
		"the second": {[]string{"1"}, line("0", uuid1), 0},
		"none":       {nil, "No devices were found\n", 6},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := newContainer(t, c.minors...).smi("-L")
			expect(t, "-L", out, code, c.want, c.code)
		})
	}
}

func TestQuery(t *testing.T) {
	c := newContainer(t, "0", "1", "2")
	if err := c.m.AddProcess(sim.Process{PID: 9, Virtual: true, MemoryMiB: 100}); err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]struct {
		args []string
		want string
		code int
	}{
		"header and units": {[]string{"--query-gpu=index,name,memory.used", "--format=csv", "-i", "0"},
			"index, name, memory.used [MiB]\n0, NVIDIA A30, 100 MiB\n", 0},
		"bare": {[]string{"--query-gpu=uuid,memory.total,memory.free", "--format=csv,noheader,nounits", "-i", uuid0},
			uuid0 + ", 24576, 23964\n", 0},
		"by address": {[]string{"--query-gpu=pci.bus_id,compute_cap,compute_mode", "--format=csv,noheader", "--id=00000000:75:01.0"},
			"00000000:75:01.0, 8.0, Default\n", 0},
		"modes": {[]string{"--query-gpu=gpu_uuid,mig.mode.current,persistence_mode,driver_version", "--format=csv,noheader", "-i", "1"},
			uuid1 + ", Disabled, Disabled, 535.129.03\n", 0},
		"not available": {[]string{"--query-gpu=name,memory.total,mig.mode.current", "--format=csv,noheader", "-i", "2"},
			"NVIDIA GB10, [N/A], [N/A]\n", 0},
		"several":     {[]string{"--query-gpu=index", "--format=csv,noheader", "-i", "0,2"}, "0\n2\n", 0},
		"no such GPU": {[]string{"--query-gpu=index", "--format=csv", "-i", "7"}, "No devices were found\n", 6},
		"no such field": {[]string{"--query-gpu=index,mood", "--format=csv"},
			"Field \"mood\" is not a valid field to query.\n\n", 2},
		"no format": {[]string{"--query-gpu=index"},
			"\"\" is not recognized as a valid format option.\n", 2},
		"an unknown option": {[]string{"--frobnicate"},
			"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help. (--frobnicate)\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := c.smi(q.args...)
			expect(t, strings.Join(q.args, " "), out, code, q.want, q.code)
		})
	}
}

func TestLostGPU(t *testing.T) {
	c := newContainer(t, "0", "1")
	if err := c.m.LoseGPU(0); err != nil {
		t.Fatal(err)
	}
	const words = "Unable to determine the device handle for GPU 0000:65:01.0: GPU is lost.  Reboot the system to recover this GPU\n"
	out, code := c.smi("-L")
	expect(t, "-L", out, code, words, 15)
	out, code = c.smi("--query-gpu=index", "--format=csv,noheader", "-i", "1")
	expect(t, "the other GPU", out, code, "1\n", 0)
}

func TestNoDriver(t *testing.T) {
	c := newContainer(t, "0")
	words := "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n"
	if err := os.Remove(filepath.Join(c.dev, "nvidiactl")); err != nil {
		t.Fatal(err)
	}
	out, code := c.smi("-L")
	expect(t, "without a control node", out, code, words, 9)
	if err := os.RemoveAll(c.m.Dir()); err != nil {
		t.Fatal(err)
	}
	out, code = c.smi("-L")
	expect(t, "without a machine", out, code, words, 9)
}
