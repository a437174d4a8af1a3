// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/scheduler"
)

// Counting compute slices accepts layouts that cannot be placed; first fit in the
// order of the requests fails for layouts that can (NVIDIA/k8s-test-infra#886).
// The allocator is Kubernetes' own, on what is published.
func TestF19FitsByMemorySlices(t *testing.T) {
	n := newNode(t, []string{"A100-40"})
	ok(t, n.machine.SetMIG(0, true))
	n.kinds.set(everything())
	n.start()
	n.awaitPublished("gpu-0-mig-7g40gb-0-0")
	for name, c := range map[string]struct {
		asks []resourceapi.DeviceRequest
		want []string
	}{
		"3g and 4g":               {[]resourceapi.DeviceRequest{slice("a", "3g.20gb", 1), slice("b", "4g.20gb", 1)}, []string{"5@0", "9@4"}},
		"4g and 3g":               {[]resourceapi.DeviceRequest{slice("a", "4g.20gb", 1), slice("b", "3g.20gb", 1)}, []string{"5@0", "9@4"}},
		"4 of 1g.10gb, 3 of 1g":   {[]resourceapi.DeviceRequest{slice("a", "1g.10gb", 4), slice("b", "1g.5gb", 3)}, nil},
		"3g, 3g and 1g":           {[]resourceapi.DeviceRequest{slice("a", "3g.20gb", 2), slice("b", "1g.5gb", 1)}, nil},
		"2g, 2g and 3g":           {[]resourceapi.DeviceRequest{slice("a", "2g.10gb", 2), slice("b", "3g.20gb", 1)}, []string{"14@0", "14@2", "9@4"}},
		"two with all media":      {[]resourceapi.DeviceRequest{slice("a", "1g.5gb+me", 2)}, nil},
		"seven of the smallest":   {[]resourceapi.DeviceRequest{slice("a", "1g.5gb", 7)}, []string{"19@0", "19@1", "19@2", "19@3", "19@4", "19@5", "19@6"}},
		"eight of the smallest":   {[]resourceapi.DeviceRequest{slice("a", "1g.5gb", 8)}, nil},
		"a media one beside a 4g": {[]resourceapi.DeviceRequest{slice("a", "1g.5gb+me", 1), slice("b", "4g.20gb", 1)}, []string{"20@6", "5@0"}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := n.schedule("c", c.asks...)
			same(t, "placed", where(claim), c.want)
			if claim == nil {
				return
			}
			_, err := n.P(claim)
			ok(t, err)
			same(t, "instances", n.instances(0), c.want)
			n.finish(claim)
			same(t, "instances at the end", n.instances(0), []string{})
		})
	}
	// Whatever the scheduler said: what does not fit is refused before anything is made.
	bad := n.claim("bad", "gpu-0-mig-1g5gb-me-20-0", "gpu-0-mig-1g5gb-me-20-3")
	_, err := n.P(bad)
	refused(t, err, "1g.5gb+me", "which is the most")
	same(t, "instances", n.instances(0), []string{})
	same(t, "creations", n.machine.Calls("nvmlDeviceCreateGpuInstanceWithPlacement"), 16)
}

// Instances were removed from the middle (dra-driver-nvidia-gpu#933,
// Project-HAMi/HAMi#2831).
func TestF20FragmentationAfterDeletes(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	n.awaitPublished("gpu-0-mig-1g10gb-19-0")
	same(t, "the first 1g on an empty GPU", where(n.schedule("first", slice("a", "1g.10gb", 1))), []string{"19@6"})
	ok(t, n.client.ResourceV1().ResourceClaims("ns").Delete(context.Background(), "first", metav1.DeleteOptions{}))
	for _, start := range []int{0, 1, 5} {
		_, err := n.P(n.claim(fmt.Sprint("live-", start), fmt.Sprintf("gpu-0-mig-1g10gb-19-%d", start)))
		ok(t, err)
	}
	for _, c := range []struct {
		what, profile string
		count         int64
		want          []string
	}{
		{"3g.40gb", "3g.40gb", 1, nil},
		{"2g.20gb", "2g.20gb", 1, []string{"14@2"}},
		{"two 2g.20gb", "2g.20gb", 2, nil},
		{"two 1g.20gb", "1g.20gb", 2, []string{"15@2", "15@6"}},
		{"three 1g.20gb", "1g.20gb", 3, nil},
		{"four 1g.10gb", "1g.10gb", 4, []string{"19@2", "19@3", "19@4", "19@6"}},
		{"five 1g.10gb", "1g.10gb", 5, nil},
	} {
		got := n.schedule("probe", slice("a", c.profile, c.count))
		same(t, c.what, where(got), c.want)
		if got != nil {
			n.deleteClaim(got)
		}
	}
	// Live instances are never moved.
	same(t, "instances", n.instances(0), []string{"19@0", "19@1", "19@5"})
}

// Nodes with MIG instances also published the parent as a whole GPU
// (dra-driver-nvidia-gpu#719).
func TestF31WholeGPUWhileMIGIsOn(t *testing.T) {
	n := newNode(t, []string{"A100-40", "A100-40"})
	ok(t, n.machine.SetMIG(0, true))
	for start := range 7 {
		ok(t, n.machine.CreateInstance(0, 19, start, true))
	}
	n.retire = sharing.Patience{Wait: 1, Again: 1}
	n.start() // without any policy
	eventually(t, soon, func() string {
		if got := len(n.devices()); got != 8 {
			return fmt.Sprintf("%d devices", got)
		}
		return ""
	})
	same(t, "one whole GPU", where(n.schedule("w", wholes("a", 1))), []string{"gpu-1"})
	same(t, "two whole GPUs", n.schedule("w2", wholes("a", 2)) == nil, true)
	all := n.schedule("m", scheduler.Request("a", "mig.nvidia.com", 7))
	same(t, "seven partitions", len(where(all)), 7)
	same(t, "eight partitions", n.schedule("m8", scheduler.Request("a", "mig.nvidia.com", 8)) == nil, true)
	got, err := n.P(all)
	ok(t, err)
	same(t, "devices", len(got), 7)
	n.finish(all)
	same(t, "they are somebody's, and stay", len(n.instances(0)), 7)
	// Mode on and no instance: nothing of type gpu for it.
	ok(t, n.machine.DestroyInstances(0))
	eventually(t, soon, func() string {
		if d := n.devices(); len(n.devices()) != 1 || d["gpu-1"].Name == "" {
			return fmt.Sprintf("%d devices are published", len(d))
		}
		return ""
	})
}

// TestF31 with a policy that offers partitions: what the present mode allows.
func TestF31PartitionsFollowTheMode(t *testing.T) {
	n := newNode(t, []string{"A100-40", "A100-40", "H100-80", "T4"})
	ok(t, n.machine.SetMIG(0, true))
	n.kinds.set(everything())
	n.start()
	n.awaitPublished("gpu-3")
	kinds := map[string]string{}
	for name := range n.devices() {
		gpu := name[:len("gpu-0")]
		if name == gpu {
			kinds[gpu] += "whole "
		} else if kinds[gpu] == "" || kinds[gpu] == "whole " {
			kinds[gpu] += "parts "
		}
	}
	for gpu, want := range map[string][]string{"gpu-0": {"parts "}, "gpu-1": {"whole "}, "gpu-2": {"whole parts ", "parts whole "}, "gpu-3": {"whole "}} {
		if got := kinds[gpu]; got != want[0] && got != want[len(want)-1] {
			t.Errorf("%s publishes %q, want %q", gpu, got, want[0])
		}
	}
	eventually(t, soon, func() string {
		s, _ := n.kinds.reported()
		if len(s.GPUs) != 4 || len(s.GPUs[1].Withheld) != 1 {
			return asJSON(t, s)
		}
		return ""
	})
	s, _ := n.kinds.reported()
	same(t, "why gpu-1 has none", s.GPUs[1].Withheld[0].Offer, "slice")
	refused(t, fmt.Errorf("%s", s.GPUs[1].Withheld[0].Reason), "MIG mode of gpu-1 is off", "needs a reset")
}

// A request for all devices got devices outside its class, or only those of the
// slices seen so far (kubernetes/kubernetes#127554, #141214).
func TestF76AllAndHalfPublishedPools(t *testing.T) {
	n := newNode(t, []string{"H100-80", "A100-40", "T4"})
	n.kinds.set(policy("p", wholeGPU(), onDemand("3g.40gb", "1g.10gb+me")))
	n.start()
	n.awaitPublished("gpu-2", "gpu-0")
	whole := n.published()
	var parts []*resourceapi.ResourceSlice
	stale := whole[len(whole)-1].DeepCopy()
	stale.Name, stale.Spec.Pool.Generation = "0-left-over", stale.Spec.Pool.Generation-1
	parts = append(parts, whole[:len(whole)-1]...)
	all := scheduler.Claim("all", resourceapi.DeviceRequest{Name: "a", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "gpu.nvidia.com", AllocationMode: resourceapi.DeviceAllocationModeAll}})
	s := scheduler.New(n.name, classes)
	got, err := s.Allocate(context.Background(), append(parts, stale), nil, all)
	if got != nil {
		t.Errorf("a pool of which a slice is missing gave %+v (%v)", got, err)
	}
	got, err = s.Allocate(context.Background(), append(n.published(), stale), nil, all)
	ok(t, err)
	var names []string
	for _, r := range got.Devices.Results {
		names = append(names, r.Device)
	}
	same(t, "all whole GPUs", names, []string{"gpu-0", "gpu-1", "gpu-2"})
	many := newNode(t, slicesOf("T4", 33))
	many.start()
	eventually(t, soon, func() string { return fewer(many, 33) })
	if got, err := s.Allocate(context.Background(), many.published(), nil, all); got != nil {
		t.Errorf("33 results are more than a claim may have (%v)", err)
	}
}

func slicesOf(product string, n int) []string {
	var out []string
	for range n {
		out = append(out, product)
	}
	return out
}

// fewer says that a node does not publish so many devices yet.
func fewer(n *node, want int) string {
	if got := len(n.devices()); got != want {
		return fmt.Sprintf("%d devices are published, want %d", got, want)
	}
	return ""
}

// Sixteen GPUs with all placements exceed every limit of a slice
// (ROCm/k8s-gpu-dra-driver#88, dra-driver-nvidia-gpu#859, dra-driver-cpu#5).
func TestF79SliceLimits(t *testing.T) {
	for _, c := range []struct {
		product string
		gpus    int
		each    int
	}{{"H100-80", 16, 26}, {"H100-80", 9, 26}, {"H100-80", 1, 26}, {"RTX-PRO-6000", 2, 31}, {"T4", 20, 1}} {
		t.Run(fmt.Sprint(c.gpus, " ", c.product), func(t *testing.T) {
			n := newNode(t, slicesOf(c.product, c.gpus))
			n.kinds.set(everything())
			n.start()
			eventually(t, 30*time.Second, func() string { return fewer(n, c.gpus*c.each) })
			sets := map[string]bool{}
			slices := n.slices()
			for _, s := range slices {
				if len(s.Spec.Devices) > 64 || len(s.Spec.SharedCounters) > 8 {
					t.Errorf("slice %s has %d devices and %d counter sets", s.Name, len(s.Spec.Devices), len(s.Spec.SharedCounters))
				}
				if len(s.Spec.Devices) > 0 && len(s.Spec.SharedCounters) > 0 {
					t.Errorf("slice %s has both devices and counter sets", s.Name)
				}
				same(t, "slice count", int(s.Spec.Pool.ResourceSliceCount), len(slices))
				same(t, "generation", s.Spec.Pool.Generation, slices[0].Spec.Pool.Generation)
				for _, set := range s.Spec.SharedCounters {
					sets[set.Name] = true
					if len(set.Counters) == 0 || len(set.Counters) > 32 {
						t.Errorf("counter set %s has %d counters", set.Name, len(set.Counters))
					}
				}
			}
			want := c.gpus
			if c.each == 1 {
				want = 0 // a GPU that publishes one device needs no counters
			}
			same(t, "counter sets", len(sets), want)
			for name, d := range n.devices() {
				if len(d.Attributes)+len(d.Capacity) > 32 {
					t.Errorf("%s has %d attributes and %d capacities", name, len(d.Attributes), len(d.Capacity))
				}
			}
			// A taint on one GPU rewrites one slice.
			before := n.writes.count()
			ok(t, n.machine.LoseGPU(0))
			n.awaitTaint("gpu-0", "gpu.nvidia.com/gpu-lost")
			same(t, "slices written for a taint", n.writes.count()-before, 1)
		})
	}
}

// The allocator rebuilds used counters from what is published now
// (kubernetes/kubernetes#140802, #140806): a device that is no longer offered
// stays as it is until nobody has it.
func TestF73NeverWithdrawAnAllocatedDevice(t *testing.T) {
	n := newNode(t, []string{"H100-80"})
	n.retire = sharing.Patience{Wait: 1, Again: 1}
	n.kinds.set(policy("p", wholeGPU(), onDemand("3g.40gb")))
	n.start()
	n.awaitPublished("gpu-0", "gpu-0-mig-3g40gb-9-4")
	consumes := func() string { return asJSON(t, n.devices()["gpu-0-mig-3g40gb-9-4"].ConsumesCounters) }
	before := consumes()
	// One is prepared, one only allocated: nothing on the node knows of that one.
	prepared := n.schedule("prepared", slice("a", "3g.40gb", 1))
	_, err := n.P(prepared)
	ok(t, err)
	allocated := n.schedule("allocated", slice("a", "3g.40gb", 1))
	same(t, "placed", append(where(prepared), where(allocated)...), []string{"9@4", "9@0"})
	n.kinds.set(policy("p", onDemand("1g.10gb")))
	n.awaitTaint("gpu-0-mig-3g40gb-9-4", "cotenant.dev/retired")
	n.awaitTaint("gpu-0-mig-3g40gb-9-0", "cotenant.dev/retired")
	n.awaitPublished("gpu-0-mig-1g10gb-19-0")
	same(t, "what it consumes", consumes(), before)
	same(t, "a 1g while both are held", n.schedule("x", slice("a", "1g.10gb", 1)) == nil, true)
	eventually(t, soon, func() string {
		if _, still := n.devices()["gpu-0"]; still {
			return "the whole GPU, which nobody has, is still published"
		}
		return ""
	})
	n.restart()
	n.awaitPublished("gpu-0-mig-3g40gb-9-0", "gpu-0-mig-3g40gb-9-4")
	n.finish(prepared)
	eventually(t, soon, func() string {
		if _, still := n.devices()["gpu-0-mig-3g40gb-9-4"]; still {
			return "it is still published though nobody has it"
		}
		return ""
	})
	same(t, "a 1g beside the one that is left", where(n.schedule("x", slice("a", "1g.10gb", 1))), []string{"19@6"})
	_, err = n.P(allocated)
	ok(t, err)
	same(t, "instances", n.instances(0), []string{"9@0"})
	n.finish(allocated)
	eventually(t, soon, func() string { return fewer(n, 7) })
}

// Gates that the API server has off, an API server that is older, and one that
// loses the gate while the plugin runs: nothing that overlaps is published.
func TestPartitionsNeedTheirGate(t *testing.T) {
	for name, g := range map[string]struct {
		version    string
		partitions bool
		why        string
	}{
		"gate off":       {"v1.37.2", false, "DRAPartitionableDevices"},
		"before 1.36.4":  {"v1.36.3", true, "1.36.4"},
		"unreadable":     {"unknown", true, "cannot be read"},
		"1.34, gates on": {"v1.34.4", true, "1.36.4"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, []string{"H100-80", "A100-40"})
			n.gates.set(g.version, g.partitions)
			ok(t, n.machine.SetMIG(1, true))
			ok(t, n.machine.CreateInstance(1, 9, 4, true))
			n.kinds.set(policy("p", wholeGPU(), onDemand("*"), existing()))
			n.start()
			d := n.awaitDevices("gpu-0", "gpu-1-mig-3g20gb-9-4")
			for name, d := range d {
				if len(d.ConsumesCounters) > 0 {
					t.Errorf("%s consumes counters", name)
				}
			}
			eventually(t, soon, func() string {
				s, _ := n.kinds.reported()
				if s.Publication.Mode != "Static" {
					return asJSON(t, s.Publication)
				}
				return ""
			})
			s, _ := n.kinds.reported()
			refused(t, fmt.Errorf("%s", s.Publication.Reason), g.why)
		})
	}
	t.Run("lost while it runs", func(t *testing.T) {
		n := newNode(t, []string{"H100-80"})
		n.retire = sharing.Patience{Wait: 1, Again: 1}
		n.kinds.set(everything())
		n.start()
		n.awaitPublished("gpu-0", "gpu-0-mig-1g10gb-19-6")
		n.gates.set("v1.37.2", false)
		// The next write shows it: fields are dropped.
		n.kinds.set(policy("everything", wholeGPU(), onDemand("1g.10gb")))
		n.awaitDevices("gpu-0")
	})
}
