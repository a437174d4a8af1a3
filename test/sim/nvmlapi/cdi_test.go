// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvmlapi_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/spec"
	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
	"github.com/cotenant-dev/cotenant/test/sim/userns"
)

// TestCDI has nvcdi, unmodified, make a spec of a GPU of the machine, and the
// CDI library apply it to a container: that is what a driver root is for.
func TestCDI(t *testing.T) {
	m := create(t, sim.Config{GPUs: []sim.GPUConfig{{Product: "A30-24"}, {Product: "A30-24"}}})
	s, err := m.State()
	if err != nil {
		t.Fatal(err)
	}
	container := inject(t, m, s.GPUs[1].UUID)

	var nodes []string
	for _, d := range container.Linux.Devices {
		nodes = append(nodes, d.Path)
		if d.Path == "/dev/nvidia1" && !isNode(d, 195, 1) {
			t.Errorf("/dev/nvidia1 is %d:%d, want 195:1, or the null device without root", d.Major, d.Minor)
		}
	}
	slices.Sort(nodes)
	want := []string{"/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia1", "/dev/nvidiactl"}
	if !slices.Equal(nodes, want) {
		t.Errorf("device nodes %q, want %q", nodes, want)
	}
	var mounts []string
	for _, mnt := range container.Mounts {
		mounts = append(mounts, mnt.Destination)
	}
	for _, file := range []string{"/usr/lib64/libcuda.so.535.129.03", "/usr/lib64/libnvidia-ml.so.535.129.03", "/usr/bin/nvidia-smi"} {
		if !slices.Contains(mounts, file) {
			t.Errorf("mounts %q have no %s", mounts, file)
		}
	}
}

// isNode says whether the node is the one with these numbers, or what stands in
// for it where none can be made.
func isNode(d oci.LinuxDevice, major, minor int64) bool {
	if userns.Inside() {
		major, minor = 1, 3
	}
	return d.Major == major && d.Minor == minor
}

// inject makes the spec of one GPU and applies it to an empty container.
func inject(t *testing.T, m *sim.Machine, uuid string) *oci.Spec {
	t.Helper()
	lib := nvmlapi.New(m)
	gen, err := nvcdi.New(
		nvcdi.WithNvmlLib(lib), nvcdi.WithDeviceLib(device.New(lib)), nvcdi.WithMode("nvml"),
		nvcdi.WithDriverRoot(m.Root()), nvcdi.WithDevRoot(m.Root()),
		nvcdi.WithFeatureFlags(nvcdi.FeatureDisableNvsandboxUtils),
	)
	if err != nil {
		t.Fatal(err)
	}
	common, err := gen.GetCommonEdits()
	if err != nil {
		t.Fatalf("common edits: %v", err)
	}
	devices, err := gen.GetDeviceSpecsByID(uuid)
	if err != nil || len(devices) != 1 {
		t.Fatalf("device specs: %d, %v", len(devices), err)
	}
	devices[0].Name = "claim"
	return apply(t, common.ContainerEdits, devices)
}

func apply(t *testing.T, common *specs.ContainerEdits, devices []specs.Device) *oci.Spec {
	t.Helper()
	sp, err := spec.New(spec.WithVendor("sim.test"), spec.WithClass("gpu"), spec.WithEdits(*common), spec.WithDeviceSpecs(devices))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := sp.Save(filepath.Join(dir, "sim.test-gpu.json")); err != nil {
		t.Fatal(err)
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(dir), cdi.WithAutoRefresh(false))
	if err != nil {
		t.Fatal(err)
	}
	container := &oci.Spec{Linux: &oci.Linux{}}
	if _, err := cache.InjectDevices(container, "sim.test/gpu=claim"); err != nil {
		t.Fatal(err)
	}
	return container
}
