// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// newHost is a machine of GPUs seen with all its nodes, as on the node itself.
func newHost(t *testing.T, cfg sim.Config) container {
	t.Helper()
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Check(); err != nil {
			t.Errorf("after the test: %v", err)
		}
	})
	return container{m: m, dev: filepath.Join(m.Root(), "dev")}
}

// session types lines and compares what comes.
func session(t *testing.T, c container, text string) {
	t.Helper()
	for _, step := range strings.Split(strings.TrimSpace(text), "\n$ ") {
		line, want, _ := strings.Cut(strings.TrimPrefix(step, "$ "), "\n")
		code := 0
		if head, tail, ok := strings.Cut(line, " # exit "); ok {
			line = head
			if _, err := fmt.Sscan(tail, &code); err != nil {
				t.Fatal(err)
			}
		}
		out, got := c.smi(strings.Fields(line)...)
		expect(t, line, strings.TrimSpace(out), got, strings.TrimSpace(want), code)
	}
}

// TestMIGSession is a published run on an RTX PRO 6000 with driver 580, and what
// else was seen of the tool elsewhere.
func TestMIGSession(t *testing.T) {
	session(t, newHost(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "RTX-PRO-6000"}}}), `
$ -i 0 -mig 1
Enabled MIG Mode for GPU 00000000:65:01.0
All done.
$ mig -i 0 -lgipp
GPU  0 Profile ID 14 Placements: {0,3,6,9}:3
GPU  0 Profile ID 21 Placements: {0,3,6,9}:3
GPU  0 Profile ID 47 Placements: {0,3,6,9}:3
GPU  0 Profile ID 65 Placements: {0,3,6,9}:3
GPU  0 Profile ID 67 Placements: {0,3,6,9}:3
GPU  0 Profile ID  5 Placements: {0,6}:6
GPU  0 Profile ID 35 Placements: {0,6}:6
GPU  0 Profile ID 64 Placements: {0,6}:6
GPU  0 Profile ID 66 Placements: {0,6}:6
GPU  0 Profile ID  0 Placement : {0}:12
GPU  0 Profile ID 32 Placement : {0}:12
$ mig -i 0 -lgi # exit 6
No GPU instances found: Not Found
$ mig -i 0 -cgi 1g.24gb,14:3 -C
Successfully created GPU instance ID  3 on GPU  0 using profile MIG 1g.24gb (ID 14)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  3 using profile MIG 1g.24gb (ID  0)
Successfully created GPU instance ID  4 on GPU  0 using profile MIG 1g.24gb (ID 14)
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  4 using profile MIG 1g.24gb (ID  0)
$ mig -cgi 5:6
Successfully created GPU instance ID  2 on GPU  0 using profile MIG 2g.48gb (ID  5)
$ mig -i 0 -lgi
+---------------------------------------------------------+
| GPU instances:                                          |
| GPU   Name               Profile  Instance   Placement  |
|                            ID       ID       Start:Size |
|=========================================================|
|   0  MIG 1g.24gb           14        3          0:3     |
+---------------------------------------------------------+
|   0  MIG 1g.24gb           14        4          3:3     |
+---------------------------------------------------------+
|   0  MIG 2g.48gb            5        2          6:6     |
+---------------------------------------------------------+
$ mig -cci 0 -gi 2
Successfully created compute instance ID  0 on GPU  0 GPU instance ID  2 using profile MIG 1c.2g.48gb (ID  0)
$ mig -i 0 -lci
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0      3       MIG 1g.24gb          0         0          0:1     |
+--------------------------------------------------------------------+
|   0      4       MIG 1g.24gb          0         0          0:1     |
+--------------------------------------------------------------------+
|   0      2       MIG 1c.2g.48gb       0         0          0:1     |
+--------------------------------------------------------------------+
$ -L
GPU 0: NVIDIA RTX PRO 6000 Blackwell Server Edition (UUID: GPU-75120521-b3cc-5163-83a7-cda4885ce448)
  MIG 1g.24gb     Device  0: (UUID: MIG-ab8b91a1-867e-51f3-8aa7-ebae30b09d13)
  MIG 1g.24gb     Device  1: (UUID: MIG-9865bdce-997c-579e-92d8-da967acd0a65)
  MIG 1c.2g.48gb  Device  2: (UUID: MIG-883c057e-cc4c-5f76-9a84-45c6b61d3091)
$ mig -cgi 9 # exit 2
Unable to create a GPU instance on GPU  0 using profile 9: Invalid Argument
Failed to create GPU instances: Invalid Argument
$ mig -cgi 14 # exit 23
Unable to create a GPU instance on GPU  0 using profile 14: Insufficient Resources
Failed to create GPU instances: Insufficient Resources
$ mig -cci 2 -gi 2 # exit 2
Unable to create a compute instance on GPU  0 GPU instance ID  2 using profile 2: Invalid Argument
Failed to create compute instances: Invalid Argument
$ mig -cci # exit 23
Unable to create a compute instance on GPU  0 GPU instance ID  3 using profile 0: Insufficient Resources
Failed to create compute instances: Insufficient Resources
$ mig -i 0 -dgi # exit 19
Unable to destroy GPU instance ID  3 from GPU  0: In use by another client
Failed to destroy GPU instances: In use by another client
$ -i 0 -mig 0 # exit 19
Unable to disable MIG Mode for GPU 00000000:65:01.0: In use by another client
Terminating early due to previous errors.
$ mig -dci -gi 4 -ci 0
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  4
$ mig -dci -gi 4 # exit 6
No compute instances found: Not Found
$ mig -dgi -gi 4
Successfully destroyed GPU instance ID  4 from GPU  0
$ mig -dgi -gi 4 # exit 6
No GPU instances found: Not Found
$ mig -dci
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  3
Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  2
$ mig -dgi
Successfully destroyed GPU instance ID  3 from GPU  0
Successfully destroyed GPU instance ID  2 from GPU  0
$ -i 0 -mig 0
Disabled MIG Mode for GPU 00000000:65:01.0
All done.
$ mig -lgi # exit 6
No MIG-enabled devices found.
`)
}

// TestProfileTable compares with lines of the same run.
func TestProfileTable(t *testing.T) {
	out, code := newContainer(t, "0").smi("mig", "-lgip")
	if code != 0 || !strings.Contains(out, "|   0  MIG 1g.6gb          14     4/4        5.81       No     14     1     0   |\n") {
		t.Errorf("exit %d with\n%s", code, out)
	}
	c := newHost(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "RTX-PRO-6000", MIG: true}}})
	out, code = c.smi("mig", "-lgip")
	for _, line := range []string{
		"| GPU instance profiles:                                                        |",
		"| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |",
		"|                                Free/Total   GiB              CE    JPEG  OFA  |",
		"|===============================================================================|",
		"|   0  MIG 1g.24gb+me.all  65     1/1        23.62      No     46     4     4   |",
		"|                                                               1     4     1   |",
		"+-------------------------------------------------------------------------------+",
		"|   0  MIG 4g.96gb          0     1/1        95.12      No     188    4     4   |",
	} {
		if code != 0 || !strings.Contains(out, line+"\n") {
			t.Errorf("exit %d, no line\n%s\nin\n%s", code, line, out)
		}
	}
}

// TestPendingMode: on a GPU that needs a reset the tool warns and succeeds.
func TestPendingMode(t *testing.T) {
	c := newHost(t, sim.Config{ResetForbidden: true, GPUs: []sim.GPUConfig{{Product: "A100-40"}, {Product: "A100-40"}, {Product: "T4"}}})
	if err := c.m.AddProcess(sim.Process{PID: 4, GPU: 1, Virtual: true}); err != nil {
		t.Fatal(err)
	}
	session(t, c, `
$ -i 0 -mig 1
Warning: MIG mode is in pending enable state for GPU 00000000:65:01.0:GPU requires restart
Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU 00000000:65:01.0
All done.
$ -i 0 --query-gpu=mig.mode.current,mig.mode.pending --format=csv,noheader
Disabled, Enabled
$ -i 1 -mig 1
Warning: MIG mode is in pending enable state for GPU 00000000:75:01.0:In use by another client
00000000:75:01.0 is currently being used by one or more other processes (e.g. CUDA application or a monitoring application such as another instance of nvidia-smi). Please first kill all processes using the device and retry the command or reboot the system to make MIG mode effective.
All done.
$ -i 2 -mig 1
Unable to enable MIG Mode for GPU 00000000:85:01.0: Not Supported
Treating as warning and moving on.
All done.
$ -i 0 --gpu-reset # exit 3
Resetting GPU 00000000:65:01.0 is not supported.
$ mig -i 2 -lgip # exit 6
No MIG-supported devices found.
$ mig -i 0 -cgi 19 # exit 6
No MIG-enabled devices found.
$ -i 0 -mig on # exit 2
Invalid MIG mode "on". Specify either 0 or 1.
$ mig -frob # exit 2
Invalid combination of input arguments. Please run 'nvidia-smi mig -h' for help. (-frob)
`)
	if n := c.m.Calls("nvmlDeviceSetMigMode"); n != 3 {
		t.Errorf("%d calls of nvmlDeviceSetMigMode, want 3", n)
	}
	if n := c.m.Calls("nvidia-smi"); n != 3 {
		t.Errorf("%d command lines in the call log, want the 3 that may have changed something", n)
	}
}

// TestOnlyRootPartitions: others list what there can be, and nothing more.
func TestOnlyRootPartitions(t *testing.T) {
	c := newHost(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}}})
	c.uid = 1000
	session(t, c, `
$ -i 0 -mig 0 # exit 4
Unable to disable MIG Mode for GPU 00000000:65:01.0: Insufficient Permissions
Terminating early due to previous errors.
$ mig -cgi 19 -C # exit 4
Insufficient Permissions
$ mig -lgi # exit 4
Insufficient Permissions
$ --gpu-reset # exit 4
Unable to reset GPU 00000000:65:01.0: Insufficient Permissions
`)
	if log, err := c.m.CallLog(); err != nil || len(log) != 0 {
		t.Errorf("the call log has %+v (%v)", log, err)
	}
}

func TestReset(t *testing.T) {
	c := newHost(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}}})
	session(t, c, `
$ -mig 1
Warning: MIG mode is in pending enable state for GPU 00000000:65:01.0:GPU requires restart
Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU 00000000:65:01.0
All done.
$ -i 0 --gpu-reset
GPU 00000000:65:01.0 was successfully reset.
All done.
$ -i 0 --query-gpu=mig.mode.current --format=csv,noheader
Enabled
`)
}

// TestFaultsStrikeTheTool: the tool's calls are calls into the driver.
func TestFaultsStrikeTheTool(t *testing.T) {
	c := newHost(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}}})
	if err := c.m.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceCreateGpuInstance*"}, Do: sim.Do{Return: new(sim.InUse)}}); err != nil {
		t.Fatal(err)
	}
	session(t, c, `
$ mig -cgi 19:6 # exit 19
Unable to create a GPU instance on GPU  0 using profile 19:6: In use by another client
Failed to create GPU instances: In use by another client
`)
}

// TestListShowsTheMIGDevicesOfTheContainer: a MIG device is seen where the node of
// the GPU and those of both instances may be opened; the GPU is seen by its own.
func TestListShowsTheMIGDevicesOfTheContainer(t *testing.T) {
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80", MIG: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range []int{0, 1} {
		if err := m.CreateInstance(0, 19, start, true); err != nil {
			t.Fatal(err)
		}
	}
	s, err := m.State()
	if err != nil {
		t.Fatal(err)
	}
	second := s.GPUs[0].GIs[1]
	gi := fmt.Sprintf("nvidia-caps/nvidia-cap%d", sim.CapabilityGI(0, second.ID))
	ci := fmt.Sprintf("nvidia-caps/nvidia-cap%d", sim.CapabilityCI(0, second.ID, 0))
	const parent = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: " + uuid0 + ")\n"
	for name, c := range map[string]struct {
		nodes []string
		want  string
		code  int
	}{
		"the second":       {[]string{"nvidia0", gi, ci}, parent + "  MIG 1g.10gb     Device  0: (UUID: " + second.CIs[0].UUID + ")\n", 0},
		"no compute one":   {[]string{"nvidia0", gi}, parent, 0},
		"no GPU one":       {[]string{"nvidia0", ci}, parent, 0},
		"not the GPU":      {[]string{gi, ci}, "No devices were found\n", 6},
		"the GPU and none": {[]string{"nvidia0"}, parent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			given := container{m: m, dev: t.TempDir()}
			for _, node := range append([]string{"nvidiactl"}, c.nodes...) {
				at := filepath.Join(given.dev, node)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(m.Root(), "dev", node), at); err != nil {
					t.Fatal(err)
				}
			}
			out, code := given.smi("-L")
			expect(t, "-L", out, code, c.want, c.code)
			out, code = given.smi("mig", "-dci")
			if c.code == 0 {
				expect(t, "destroying from a container", out, code, "Insufficient Permissions\n", 4)
			}
		})
	}
}
