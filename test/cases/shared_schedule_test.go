// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/scheduler"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// A GPU that several claims share is counted once, however its holders are recorded
// (kubernetes/kubernetes#139034, #140433). No view of ours counts yet; the allocator
// is asked about what we publish.
func TestF74CountersOfShares(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80"}, wholeGPU(), onDemand("3g.40gb"), quarterByMPS())
	n.awaitShares("quarter")
	b := n.schedule("b", of("r", "quarter"))
	// a's result has its share id and nothing of what it consumes.
	a := n.allocate("a", []resourceapi.DeviceRequestAllocationResult{{
		Request: "r", Driver: "gpu.nvidia.com", Pool: nodeName, Device: deviceOf(b), ShareID: new(types.UID("11111111-2222-4333-8444-555555555555"))}}, nil)
	for _, c := range []*resourceapi.ResourceClaim{a, b} {
		_, err := n.P(c)
		ok(t, err)
	}
	fits := func(what string, want bool, r resourceapi.DeviceRequest) {
		t.Helper()
		got, err := scheduler.New(n.name, classes).Allocate(t.Context(), n.published(), n.allClaims(), scheduler.Claim("probe", r))
		ok(t, err)
		same(t, what, got != nil, want)
	}
	fits("a third share beside two", true, of("r", "quarter"))
	fits("a partition beside two shares", false, slice("r", "3g.40gb", 1))
	fits("the whole GPU beside two shares", false, wholes("r", 1))
	n.finish(b)
	fits("a partition beside one share, recorded without its capacity", false, slice("r", "3g.40gb", 1))
	n.finish(a)
	fits("a partition when both are gone", true, slice("r", "3g.40gb", 1))
	fits("two partitions", true, slice("r", "3g.40gb", 2))
}

// Where the driver can limit the memory of containers, it is told to, by both of the
// variables that its hook reads; the hook is nowhere else.
func TestContainersAreLimited(t *testing.T) {
	ok(t, standIns())
	n := newNodeOf(t, sim.Config{Bin: built, Driver: "615.20.01", CUDA: "13.4", Seed: 1, GPUs: []sim.GPUConfig{{Product: "H100-80"}, {Product: "H100-80"}}})
	limited := eighthInTurns("")
	limited.Requires = append(limited.Requires, "MemoryLimit")
	n.kinds.set(policy("shared", wholeGPU(), limited, quarterByMPS()))
	n.start()
	n.awaitShares("quarter")
	for name := range n.devices() {
		if strings.Contains(name, "eighth") {
			t.Errorf("%s is published on a node with cgroup v1", name)
		}
	}
	status, _ := n.kinds.reported()
	if why := status.Sharing.MemoryLimitsUnavailable; !strings.Contains(why, "cgroup v1") {
		t.Errorf("GPUNode says of memory limits %q", why)
	}
	// What the kernel has and the kubelet does not turn on for pods limits none.
	top := filepath.Join(n.paths.SysRoot, "fs/cgroup")
	n.cgroup(top, "cpuset cpu io memory dmem pids")
	n.cgroup(filepath.Join(top, "kubepods.slice"), "cpuset cpu io memory pids")
	n.await(func() string {
		status, _ := n.kinds.reported()
		if why := status.Sharing.MemoryLimitsUnavailable; !strings.Contains(why, "kubepods.slice/cgroup.controllers") {
			return "GPUNode says of memory limits " + why
		}
		return ""
	})
	n.stop()
	n.cgroup(filepath.Join(top, "kubepods.slice"), "cpuset cpu io memory dmem pids")
	n.start()
	n.awaitShares("eighth")
	for i, offer := range []string{"eighth", "quarter"} {
		c := n.schedule(offer, of("r", offer))
		d := n.devices()[deviceOf(c)]
		same(t, "facet of "+offer, *d.Attributes["cotenant.dev/memoryLimit"].StringValue, "container")
		got, err := n.P(c)
		ok(t, err)
		spec := n.container(ids(got), "NVIDIA_GPU_MEMORY_REQUEST=80000", "NVIDIA_GPU_MEMORY_LIMIT=80000")
		mib := []int64{9876, 19752}[i]
		for _, v := range []string{"NVIDIA_GPU_MEMORY_REQUEST=", "NVIDIA_GPU_MEMORY_LIMIT="} {
			var values []string
			for _, e := range spec.Process.Env {
				if strings.HasPrefix(e, v) {
					values = append(values, e)
				}
			}
			same(t, v+" of "+offer, values, []string{v + fmt.Sprint(mib)})
		}
		var hooks [][]string
		for _, h := range append(spec.Hooks.CreateContainer, spec.Hooks.CreateRuntime...) {
			if contains(h.Args, "apply-cuda-memory-limits") {
				hooks = append(hooks, h.Args[1:])
			}
		}
		gpu := map[string]int{"gpu-0": 0, "gpu-1": 1}[sharing.GPUOf(deviceOf(c))]
		same(t, "hook of "+offer, hooks, [][]string{{"apply-cuda-memory-limits", "--driver-root", n.paths.HostDriverRoot, "--gpu-id", n.gpuState(gpu).UUID}})
		n.finish(c)
	}
	got, err := n.P(n.schedule("whole", wholes("r", 1)))
	ok(t, err)
	spec := n.container(ids(got), "NVIDIA_GPU_MEMORY_REQUEST=80000")
	for _, h := range append(spec.Hooks.CreateContainer, spec.Hooks.CreateRuntime...) {
		if contains(h.Args, "apply-cuda-memory-limits") {
			t.Errorf("the hook is in the container of a whole GPU: %v", h.Args)
		}
	}
}

// With the journal lost, what was set up for sharers is known from their CDI specs:
// nobody loses a daemon while others are there, and the last restores what was.
func TestLostJournalWithShares(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80", "H100-80"}, wholeGPU(), quarterByMPS(), eighthInTurns("Long"))
	n.awaitShares("quarter", "eighth")
	n.preset(0, func(g *sim.GPU) { g.TimeSlice = 2 })
	n.preset(1, func(g *sim.GPU) { g.ComputeMode = sim.ComputeProhibited })
	var claims []*resourceapi.ResourceClaim
	for i, offer := range []string{"quarter", "quarter", "quarter", "eighth", "eighth"} {
		c := n.schedule(fmt.Sprint("c", i), of("r", offer))
		_, err := n.P(c)
		ok(t, err)
		claims = append(claims, c)
	}
	alone := claims[2]
	n.stop()
	ok(t, os.Remove(n.paths.Journal()))
	ok(t, os.WriteFile(n.paths.Journal(), []byte("not a journal"), 0o600))
	n.deleteClaim(alone) // while nobody looked
	n.start()
	ok(t, n.U(claims[0]))
	n.await(func() string {
		if got := n.records(); len(got) != 3 {
			return fmt.Sprintf("records: %v", got)
		}
		return ""
	})
	started, stopped := n.daemons.counted()
	same(t, "daemons started and stopped", []int{started, stopped}, []int{1, 0})
	got, err := n.P(claims[1])
	ok(t, err)
	same(t, "the same answer", len(got), 1)
	for _, c := range append(claims[1:2], claims[3:]...) {
		same(t, "settings while "+c.Name+" is there", []int{n.turns(0), n.compute(1)}, []int{3, sim.ComputeExclusiveProcess})
		if c == claims[1] {
			n.deleteClaim(c)
			continue // its share goes last
		}
		n.finish(c)
		if c == claims[3] {
			continue
		}
	}
	same(t, "interval at the end", n.turns(0), 2)
	ok(t, n.U(claims[1]))
	same(t, "compute mode at the end", n.compute(1), sim.ComputeProhibited)
	_, stopped = n.daemons.counted()
	same(t, "daemons stopped", stopped, 1)
	same(t, "records", n.records(), map[string]string{})
}

// cgroup makes what looks like a cgroup of version 2 with the controllers.
func (n *node) cgroup(dir, controllers string) {
	n.t.Helper()
	ok(n.t, os.MkdirAll(dir, 0o755))
	ok(n.t, os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte(controllers+"\n"), 0o644))
}
