// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/nvpci"
	"golang.org/x/sys/unix"
	"k8s.io/dynamic-resource-allocation/deviceattribute"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// TestRootFollowsTheState: what the driver shows changes with the operation.
func TestRootFollowsTheState(t *testing.T) {
	m := create(t, "A30-24", "T4")
	has := func(path string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(m.Root(), path)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", path, err == nil, want)
		}
	}
	for _, path := range []string{"dev/nvidia0", "dev/nvidia1", "sys/bus/pci/devices/0000:75:01.0/vendor", "proc/driver/nvidia/gpus/0000:75:01.0/information"} {
		has(path, true)
	}
	must(t, m.LoseGPU(1))
	has("dev/nvidia1", true)
	must(t, m.RemoveGPU(1))
	for _, path := range []string{"dev/nvidia1", "sys/bus/pci/devices/0000:75:01.0", "proc/driver/nvidia/gpus/0000:75:01.0"} {
		has(path, false)
	}
	must(t, os.Remove(filepath.Join(m.Root(), "dev/nvidia0")))
	if err := m.Check(); err == nil {
		t.Error("a missing device node passes Check")
	}
	_, err := m.AddGPU(sim.GPUConfig{Product: "L40S"})
	must(t, err)
	has("dev/nvidia0", true)
	has("dev/nvidia1", true)
}

func TestDeviceNodes(t *testing.T) {
	m := create(t, "A30-24")
	for node, minor := range map[string]uint32{"nvidia0": 0, "nvidiactl": 255, "nvidia-modeset": 254} {
		var st unix.Stat_t
		must(t, unix.Stat(filepath.Join(m.Root(), "dev", node), &st))
		if st.Mode&unix.S_IFMT != unix.S_IFCHR {
			t.Errorf("%s is not a character device", node)
		}
		if os.Geteuid() == 0 && (unix.Major(st.Rdev) != 195 || unix.Minor(st.Rdev) != minor) {
			t.Errorf("%s is %d:%d, want 195:%d", node, unix.Major(st.Rdev), unix.Minor(st.Rdev), minor)
		}
	}
}

// TestConsumersReadSysfs: the readers that the node plugin uses find in the
// root what they find on a real machine.
func TestConsumersReadSysfs(t *testing.T) {
	m, err := sim.Create(t.TempDir(), sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "H100-80", NUMA: new(-1), PCI: "0001:3b:00.0", PCIeRoot: "pci0001:20"}}})
	must(t, err)
	sys := filepath.Join(m.Root(), "sys")
	devices, err := nvpci.New(nvpci.WithPCIDevicesRoot(filepath.Join(sys, "bus/pci/devices"))).GetAllDevices()
	must(t, err)
	if len(devices) != 2 {
		t.Fatalf("nvpci finds %d devices", len(devices))
	}
	for i, want := range []struct {
		address, root string
		device        uint16
		numa          int
	}{{"0000:65:01.0", "pci0000:64", 0x20b7, 0}, {"0001:3b:00.0", "pci0001:20", 0x2330, -1}} {
		d := devices[i]
		if d.Address != want.address || d.Device != want.device || d.NumaNode != want.numa || !d.IsGPU() || d.Driver != "nvidia" {
			t.Errorf("nvpci reads %s device %#x NUMA %d driver %q, want %+v", d.Address, d.Device, d.NumaNode, d.Driver, want)
		}
		root, err := deviceattribute.GetPCIeRootAttributeByPCIBusID(want.address, deviceattribute.WithFSFromRoot(sys))
		if err != nil || *root.Value.StringValue != want.root {
			t.Errorf("PCIe root of %s: %v, want %s", want.address, err, want.root)
		}
	}
}

func TestBinIsCopied(t *testing.T) {
	programs := []string{"nvidia-smi", "nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "simcuda"}
	bin := t.TempDir()
	for _, name := range programs {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("my "+name), 0o755))
	}
	m, err := sim.Create(filepath.Join(t.TempDir(), "sim"), sim.Config{Bin: bin})
	must(t, err)
	must(t, os.RemoveAll(bin))
	must(t, m.Reboot())
	for _, name := range programs {
		path := filepath.Join(m.Root(), "usr/bin", name)
		b, err := os.ReadFile(path)
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if string(b) != "my "+name || info.Mode().Perm() != 0o755 {
			t.Errorf("%s is %q with mode %o", path, b, info.Mode().Perm())
		}
	}
}
