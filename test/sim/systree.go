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

const vendorNVIDIA = 0x10de // PCI-SIG vendor id of NVIDIA

// cpusPerNode is how many CPUs the machine has on each NUMA node.
const cpusPerNode = 16

// sysTree is the part of sysfs that knows of the driver and of the GPUs.
func sysTree(t fsroot.Tree, s *State) {
	// The kernel makes this directory when the module is loaded, so each load
	// has one of its own: its inode tells one load from another.
	t.Fresh("sys/module/nvidia", strconv.Itoa(s.Load))
	t.File("sys/module/nvidia/version", s.Driver+"\n", 0o444)
	t.File("sys/module/nvidia/initstate", "live\n", 0o444)
	t.File("sys/module/nvidia/refcnt", "0\n", 0o444)
	t.Dir("sys/bus/pci/devices")
	t.Dir("sys/bus/pci/drivers/nvidia")
	for _, g := range s.GPUs {
		pciTree(t, g)
	}
}

// pciTree is one GPU's device directory below its PCIe root, with a root port
// between them as on any board, and the links that lead there.
func pciTree(t fsroot.Tree, g GPU) {
	p := products[g.Product]
	port := fmt.Sprintf("%s:00.0", strings.TrimPrefix(g.PCIeRoot, "pci"))
	at := path.Join("sys/devices", g.PCIeRoot, port, g.PCI)
	link(t, path.Join("sys/bus/pci/devices", g.PCI), at)
	link(t, path.Join("sys/bus/pci/drivers/nvidia", g.PCI), at)
	link(t, path.Join(at, "driver"), "sys/bus/pci/drivers/nvidia")
	for name, value := range map[string]string{
		"vendor":           fmt.Sprintf("%#06x", vendorNVIDIA),
		"device":           fmt.Sprintf("%#06x", p.PCIDeviceID),
		"subsystem_vendor": fmt.Sprintf("%#06x", vendorNVIDIA),
		"subsystem_device": fmt.Sprintf("%#06x", p.PCISubsystem),
		"class":            fmt.Sprintf("%#08x", p.PCIClass),
		"revision":         "0xa1",
		"numa_node":        strconv.Itoa(g.NUMA),
		"local_cpulist":    cpuList(g.NUMA),
		"enable":           "1",
		"resource":         pciResources(g.Ordinal),
	} {
		t.File(path.Join(at, name), value+"\n", 0o444)
	}
	t.File(path.Join(at, "config"), configSpace(p), 0o444)
}

// link adds a relative symbolic link, as sysfs makes them: they lead to the
// same place however the root is mounted.
func link(t fsroot.Tree, from, to string) {
	up := strings.Repeat("../", strings.Count(from, "/")-1)
	t.Symlink(from, up+strings.TrimPrefix(to, "sys/"))
}

func cpuList(node int) string {
	if node < 0 {
		return fmt.Sprintf("0-%d", 2*cpusPerNode-1)
	}
	return fmt.Sprintf("%d-%d", node*cpusPerNode, (node+1)*cpusPerNode-1)
}

// pciResources is the file sysfs calls resource: start, end and flags of the
// six BARs and the ROM. The GPU has a 16 MiB register BAR, 0x40200 being a
// 32-bit memory resource (include/linux/ioport.h).
func pciResources(ordinal int) string {
	const none = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
	start := 0x90000000 + uint64(ordinal)<<24
	lines := []string{fmt.Sprintf("%#016x %#016x %#016x", start, start+1<<24-1, 0x40200)}
	for len(lines) < 7 {
		lines = append(lines, none)
	}
	return strings.Join(lines, "\n")
}

// configSpace is the standard header of PCI configuration space: ids, revision
// and class in little-endian order (PCI Local Bus Specification 3.0, 6.1).
func configSpace(p Product) string {
	b := make([]byte, 64)
	put := func(at int, v uint32, n int) {
		for i := range n {
			b[at+i] = byte(v >> (8 * i))
		}
	}
	put(0x00, vendorNVIDIA, 2)
	put(0x02, uint32(p.PCIDeviceID), 2)
	put(0x08, 0xa1, 1)
	put(0x09, p.PCIClass, 3)
	put(0x2c, vendorNVIDIA, 2)
	put(0x2e, uint32(p.PCISubsystem), 2)
	return string(b)
}
