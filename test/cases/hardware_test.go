// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// GPUs that cannot do MIG, alone and beside one that can
// (dra-driver-nvidia-gpu#1008, #1092).
func TestF32GPUsWithoutMIG(t *testing.T) {
	for name, products := range map[string][]string{"T4": {"T4"}, "L40S x4": {"L40S", "L40S", "L40S", "L40S"}, "T4 and A100": {"T4", "A100-40"}} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, products)
			n.start()
			var names []string
			for i := range products {
				names = append(names, "gpu-"+string(rune('0'+i)))
			}
			for _, d := range n.awaitDevices(names...) {
				same(t, d.Name+": type", *d.Attributes["type"].StringValue, "gpu")
				if len(d.ConsumesCounters) != 0 {
					t.Errorf("%s consumes counters: %v", d.Name, d.ConsumesCounters)
				}
			}
			for _, s := range n.slices() {
				if len(s.Spec.SharedCounters) != 0 {
					t.Errorf("slice %s has counters: %v", s.Name, s.Spec.SharedCounters)
				}
			}
			c := n.claim("c", "gpu-0")
			_, err := n.P(c)
			ok(t, err)
			ok(t, n.U(c))
		})
	}
}

// A machine with unified memory has no memory size to tell
// (dra-driver-nvidia-gpu#1073, #1115, #1121; Project-HAMi/k8s-dra-driver#44).
func TestF71MemorySizeCannotBeRead(t *testing.T) {
	n := newNode(t, []string{"GB10"})
	n.start()
	d := n.awaitDevices("gpu-0")["gpu-0"]
	if m, published := d.Capacity["memory"]; published {
		t.Errorf("memory is published as %s; unknown is not a size", m.Value.String())
	}
	same(t, "memoryType", *d.Attributes["memoryType"].StringValue, "unified")
	c := n.claim("c", "gpu-0")
	got, err := n.P(c)
	ok(t, err)
	same(t, "nodes", nodesOf(n.container(ids(got))), []string{"/dev/nvidia0"})
	ok(t, n.U(c))
}

// Names stay with the hardware (dra-driver-nvidia-gpu#427, #428, #563, #930;
// ROCm/k8s-gpu-dra-driver#83).
func TestF80NamesStayWithTheHardware(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.start()
	before := n.awaitDevices("gpu-0", "gpu-1")
	addressB := *before["gpu-1"].Attributes["resource.kubernetes.io/pciBusID"].StringValue
	c := n.claim("c", "gpu-1")

	// A is drained; the plugin restarts; B is now index 0.
	ok(t, n.machine.RemoveGPU(0))
	n.restart()
	got, err := n.P(c)
	ok(t, err)
	same(t, "nodes of B", nodesOf(n.container(ids(got))), []string{"/dev/nvidia1"})
	ok(t, n.U(c))

	// The machine reboots and B is renumbered to minor 0.
	ok(t, n.machine.Reorder([]int{0}, true))
	n.reboot()
	devices := n.awaitDevices("gpu-1")
	same(t, "address of gpu-1", *devices["gpu-1"].Attributes["resource.kubernetes.io/pciBusID"].StringValue, addressB)
	got, err = n.P(c)
	ok(t, err)
	same(t, "nodes of B after the renumbering", nodesOf(n.container(ids(got))), []string{"/dev/nvidia0"})
	ok(t, n.U(c))

	// A is back, enumerated after B.
	_, err = n.machine.AddGPU(sim.GPUConfig{Product: "A30-24", PCI: *before["gpu-0"].Attributes["resource.kubernetes.io/pciBusID"].StringValue})
	ok(t, err)
	devices = n.awaitDevices("gpu-0", "gpu-1")
	same(t, "address of gpu-1", *devices["gpu-1"].Attributes["resource.kubernetes.io/pciBusID"].StringValue, addressB)
}

// What the walkthrough shows of an A30 (names, types and values).
func TestPublishedA30(t *testing.T) {
	n := newNode(t, []string{"A30-24"}, named("192.168.2.8"))
	n.start()
	d := n.awaitDevices("gpu-0")["gpu-0"]
	text := func(name resourceapi.QualifiedName, want string) {
		t.Helper()
		if a := d.Attributes[name]; a.StringValue == nil || *a.StringValue != want {
			t.Errorf("%s: %s, want the string %q", name, asJSON(t, a), want)
		}
	}
	version := func(name resourceapi.QualifiedName, want string) {
		t.Helper()
		if a := d.Attributes[name]; a.VersionValue == nil || *a.VersionValue != want {
			t.Errorf("%s: %s, want the version %q", name, asJSON(t, a), want)
		}
	}
	text("architecture", "Ampere")
	text("brand", "Nvidia")
	text("pcieBusID", "0000:65:01.0")
	text("resource.kubernetes.io/pciBusID", "0000:65:01.0")
	text("resource.kubernetes.io/pcieRoot", "pci0000:64")
	text("productName", "NVIDIA A30")
	text("type", "gpu")
	version("cudaComputeCapability", "8.0.0")
	version("cudaDriverVersion", "12.2.0")
	version("driverVersion", "535.129.3")
	if uuid := d.Attributes["uuid"]; uuid.StringValue == nil || !strings.HasPrefix(*uuid.StringValue, "GPU-") {
		t.Errorf("uuid: %s", asJSON(t, uuid))
	}
	memory := d.Capacity["memory"]
	same(t, "memory", memory.Value.Cmp(resource.MustParse("24Gi")), 0)
	same(t, "memory as written", memory.Value.String(), "24Gi")
	slices := n.slices()
	same(t, "slices", len(slices), 1)
	same(t, "generation", slices[0].Spec.Pool.Generation, int64(1))
	same(t, "pool", slices[0].Spec.Pool.Name, "192.168.2.8")
	same(t, "driver", slices[0].Spec.Driver, "gpu.nvidia.com")
}

// A sick GPU beside a good one costs that GPU only; a GPU lost or added while the
// plugin runs is noticed without a restart.
func TestGPUsComeAndGo(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	ok(t, n.machine.LoseGPU(1))
	n.start()
	n.awaitDevices("gpu-0")
	_, err := n.P(n.claim("a", "gpu-0"))
	ok(t, err)
	ok(t, n.machine.RestoreGPU(1))
	n.awaitDevices("gpu-0", "gpu-1")
	ok(t, n.machine.LoseGPU(1))
	n.awaitTaint("gpu-1", "gpu.nvidia.com/gpu-lost")
	_, err = n.P(n.claim("b", "gpu-1"))
	refused(t, err, "gpu-1", "lost")
	ok(t, n.machine.RestoreGPU(1))
	n.awaitTaint("gpu-1", "")
	_, err = n.machine.AddGPU(sim.GPUConfig{Product: "A30-24"})
	ok(t, err)
	n.awaitDevices("gpu-0", "gpu-1", "gpu-2")
}

// A claim released while its GPU is lost leaves a fence: the GPU comes back into
// service when it answers and nothing runs on it.
func TestFenceAfterRelease(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	c := n.claim("c", "gpu-0")
	_, err := n.P(c)
	ok(t, err)
	ok(t, n.machine.LoseGPU(0))
	n.awaitTaint("gpu-0", "gpu.nvidia.com/gpu-lost")
	ok(t, n.U(c))
	// It comes back, but does not yet tell what runs on it.
	unknown := sim.Unknown
	ok(t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceGetComputeRunningProcesses*"}, Do: sim.Do{Return: &unknown}}))
	ok(t, n.machine.RestoreGPU(0))
	n.awaitTaint("gpu-0", "cotenant.dev/fenced")
	next := n.claim("next", "gpu-0")
	_, err = n.P(next)
	refused(t, err, "set apart")
	n.restart() // a fence outlives the process
	n.awaitTaint("gpu-0", "cotenant.dev/fenced")
	ok(t, n.machine.ClearFaults())
	n.awaitTaint("gpu-0", "")
	_, err = n.P(next)
	ok(t, err)
}

// After a driver reload the specs of prepared claims name the files of the new
// load, and the plugin did not need a restart.
func TestDriverReload(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	c := n.claim("c", "gpu-0")
	_, err := n.P(c)
	ok(t, err)
	before, err := n.store.Era()
	ok(t, err)
	ok(t, n.machine.ReloadDriver())
	eventually(t, soon, func() string {
		if now, err := n.store.Era(); err != nil || now == before {
			return "the reload was not noted"
		}
		return ""
	})
	n.awaitDevices("gpu-0")
	got, err := n.P(c)
	ok(t, err)
	n.container(ids(got))
	ok(t, n.U(c))
}

// A claim whose GPU is gone cannot be repaired after a driver reload, and does
// not keep the reload from being dealt with for the others.
func TestDriverReloadWithALostGPU(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.start()
	here, gone := n.claim("here", "gpu-0"), n.claim("gone", "gpu-1")
	for _, c := range []*resourceapi.ResourceClaim{here, gone} {
		_, err := n.P(c)
		ok(t, err)
	}
	before, err := n.store.Era()
	ok(t, err)
	ok(t, n.machine.RemoveGPU(1))
	n.awaitTaint("gpu-1", "gpu.nvidia.com/gpu-lost")
	ok(t, n.machine.ReloadDriver())
	eventually(t, soon, func() string {
		if now, err := n.store.Era(); err != nil || now == before {
			return "the reload was not dealt with"
		}
		return ""
	})
	_, err = n.P(here)
	ok(t, err)
	_, err = n.P(gone)
	refused(t, err, "lost")
	ok(t, n.U(gone))
	ok(t, n.U(here))
}
