// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

// Minors of the device nodes below dev/nvidia-caps. The driver numbers 15 GPU
// instances of each GPU with their 8 compute instances; the formula fits every
// number that was seen of real machines, and is not documented.
const (
	// CapabilityConfig opens the right to make and destroy instances.
	CapabilityConfig = 1
	minorMIGMonitor  = 2
	minorFirstGI     = 3
	minorsPerGI      = 1 + maxCIs
	minorsPerGPU     = maxGIs * minorsPerGI
)

// CapabilityGI and CapabilityCI are the minors of the device nodes that open an
// instance of the GPU whose own node has the minor gpu.
func CapabilityGI(gpu, gi int) int { return minorFirstGI + gpu*minorsPerGPU + gi*minorsPerGI }

// CapabilityCI is the one of a compute instance.
func CapabilityCI(gpu, gi, ci int) int { return CapabilityGI(gpu, gi) + 1 + ci }

// Modes of the nodes: configuring and monitoring are root's, using an instance
// is everybody's who has the node (NVIDIA MIG user guide, "Device Nodes and
// Capabilities": DeviceFileMode 256 and 292).
const (
	modeAdmin  = 0o400
	modeAccess = 0o444
)

// capabilityTree is what the driver shows of MIG in proc and dev: a node and the
// file that tells its minor, for what there is.
func capabilityTree(t fsroot.Tree, s *State) {
	const proc = "proc/driver/nvidia/capabilities"
	capability(t, path.Join(proc, "mig/config"), CapabilityConfig, modeAdmin)
	capability(t, path.Join(proc, "mig/monitor"), minorMIGMonitor, modeAdmin)
	for _, g := range s.GPUs {
		if !g.MIG.Current {
			continue
		}
		mig := path.Join(proc, "gpu"+strconv.Itoa(g.Minor), "mig")
		t.Dir(mig)
		for _, gi := range g.GIs {
			at := path.Join(mig, "gi"+strconv.Itoa(gi.ID))
			capability(t, path.Join(at, "access"), CapabilityGI(g.Minor, gi.ID), modeAccess)
			for _, ci := range gi.CIs {
				capability(t, path.Join(at, "ci"+strconv.Itoa(ci.ID), "access"), CapabilityCI(g.Minor, gi.ID, ci.ID), modeAccess)
			}
		}
	}
	t.File("proc/driver/nvidia-caps/mig-minors", migMinors(s), 0o444)
}

// capability adds one capability: the file in the format of the kernel driver,
// and the node.
func capability(t fsroot.Tree, file string, minor int, mode uint32) {
	t.File(file, fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: %d\nDeviceFileModify: 1\n", minor, mode), 0o444)
	t.Node("dev/nvidia-caps/nvidia-cap"+strconv.Itoa(minor), majorCaps, uint32(minor), mode)
}

// migMinors lists the minors that instances would have, made or not. The real
// driver lists 32 GPUs, the simulated one those of the machine.
func migMinors(s *State) string {
	var w strings.Builder
	fmt.Fprintf(&w, "config %d\nmonitor %d\n", CapabilityConfig, minorMIGMonitor)
	for _, g := range s.GPUs {
		if !products[g.Product].MIG {
			continue
		}
		for gi := range maxGIs {
			fmt.Fprintf(&w, "gpu%d/gi%d/access %d\n", g.Minor, gi, CapabilityGI(g.Minor, gi))
			for ci := range maxCIs {
				fmt.Fprintf(&w, "gpu%d/gi%d/ci%d/access %d\n", g.Minor, gi, ci, CapabilityCI(g.Minor, gi, ci))
			}
		}
	}
	return w.String()
}
