// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

// libDir is where the driver root keeps its libraries; nvcdi and go-nvml both
// look there.
const libDir = "usr/lib64"

// placeholderSMI stands for nvidia-smi in a machine created without programs.
const placeholderSMI = `#!/bin/sh
echo "this simulated machine was created without an nvidia-smi: give simctl create --bin" >&2
exit 127
`

// tree is the driver root that belongs to s. It does not depend on where the
// machine is: each container may have it mounted elsewhere.
func tree(s *State) fsroot.Tree {
	t := fsroot.Tree{}
	userTree(t, s)
	devTree(t, s)
	procTree(t, s)
	capabilityTree(t, s)
	sysTree(t, s)
	return t
}

// userTree is what the driver package installs below usr. libcuda is empty:
// nothing here runs CUDA, and nvcdi reads the driver version off its name.
func userTree(t fsroot.Tree, s *State) {
	for _, lib := range []string{"libcuda", "libnvidia-ml"} {
		file := lib + ".so." + s.Driver
		t.File(path.Join(libDir, file), "", 0o755)
		t.Symlink(path.Join(libDir, lib+".so.1"), file)
		t.Symlink(path.Join(libDir, lib+".so"), lib+".so.1")
	}
	t.File("usr/bin/nvidia-smi", placeholderSMI, 0o755)
	for _, name := range programs() {
		if slices.Contains(s.Bin, name) {
			t.Copy("usr/bin/"+name, "bin/"+name, 0o755)
		}
	}
	if slices.Contains(s.Bin, binLib) {
		t.Copy(path.Join(libDir, "libnvidia-ml.so."+s.Driver), "bin/"+binLib, 0o755)
	}
}

// Device numbers. 195 is NVIDIA's registered major, with 255 for the control
// and 254 for the mode-setting node (Linux, Documentation/admin-guide/devices.txt
// and the driver's nvidia-modprobe sources). The other majors are dynamic on a
// real machine; these are from the middle of the dynamic range, which a kernel
// fills from its ends, so that opening a node gives ENXIO and reaches nobody's device.
const (
	majorNVIDIA  = 195
	minorCtl     = 255
	minorModeset = 254
	majorUVM     = 401
	majorCaps    = 402
)

func devTree(t fsroot.Tree, s *State) {
	t.CharDev("dev/nvidiactl", majorNVIDIA, minorCtl)
	t.CharDev("dev/nvidia-modeset", majorNVIDIA, minorModeset)
	t.CharDev("dev/nvidia-uvm", majorUVM, 0)
	t.CharDev("dev/nvidia-uvm-tools", majorUVM, 1)
	for _, g := range s.GPUs {
		t.CharDev("dev/nvidia"+strconv.Itoa(g.Minor), majorNVIDIA, uint32(g.Minor))
	}
}

func procTree(t fsroot.Tree, s *State) {
	t.File("proc/devices", fmt.Sprintf("Character devices:\n  1 mem\n  5 /dev/tty\n%3d nvidia\n%3d nvidia-uvm\n%3d nvidia-caps\n\nBlock devices:\n  8 sd\n",
		majorNVIDIA, majorUVM, majorCaps), 0o444)
	t.File("proc/sys/kernel/random/boot_id", s.BootID+"\n", 0o444)
	t.File("proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  "+s.Driver+"  (simulated)\n", 0o444)
	t.File("proc/driver/nvidia/params",
		"ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n", 0o444)
	for _, g := range s.GPUs {
		p := products[g.Product]
		t.File(path.Join("proc/driver/nvidia/gpus", g.PCI, "information"), fmt.Sprintf(
			"Model: \t\t %s\nIRQ:   \t\t 0\nGPU UUID: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\n",
			p.Name, g.UUID, g.PCI, g.Minor), 0o444)
	}
}
