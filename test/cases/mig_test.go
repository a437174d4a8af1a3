// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/scheduler"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// everything offers whole GPUs and all partitions on every node.
func everything() v1alpha1.SharingPolicy {
	return policy("everything", wholeGPU(), onDemand("*"))
}

func policy(name string, offers ...v1alpha1.Offer) v1alpha1.SharingPolicy {
	p := v1alpha1.SharingPolicy{}
	p.Name = name
	p.Spec.Offers = offers
	return p
}

func wholeGPU() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "whole", ClassNames: []string{"gpu.nvidia.com"}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}}
}

func onDemand(profiles ...string) v1alpha1.Offer {
	return v1alpha1.Offer{Name: "slice", ClassNames: []string{"mig.nvidia.com"}, Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGOnDemand, Profiles: profiles}}}
}

func existing() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "there", ClassNames: []string{"mig.nvidia.com"}, Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGExisting}}}
}

// newMIGNode is a node whose policy offers everything, serving.
func newMIGNode(t *testing.T, products ...string) *node {
	t.Helper()
	n := newNode(t, products)
	n.kinds.set(everything())
	n.start()
	return n
}

// instances are the GPU instances of a GPU as "profile@start", in that order;
// those without a compute instance have a "!".
func (n *node) instances(gpu int) []string {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	out := []string{}
	for _, gi := range s.GPUs[gpu].GIs {
		line := fmt.Sprintf("%d@%d", gi.ProfileID, gi.Start)
		if len(gi.CIs) == 0 {
			line += "!"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// mode is the MIG mode of a GPU.
func (n *node) mode(gpu int) sim.MIGMode {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	return s.GPUs[gpu].MIG
}

// A partition is made for its claim and destroyed after it, and the mode is on
// exactly as long as there is one.
func TestPartitionLivesWithItsClaim(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	n.awaitPublished("gpu-0-mig-3g40gb-9-4")
	a, b := n.claim("a", "gpu-0-mig-3g40gb-9-4"), n.claim("b", "gpu-0-mig-1g10gb-19-0")
	got, err := n.P(a)
	ok(t, err)
	same(t, "devices", ids(got), []string{"k8s.gpu.nvidia.com/claim=" + string(a.UID) + "-gpu-0-mig-3g40gb-9-4"})
	same(t, "instances", n.instances(0), []string{"9@4"})
	_, err = n.P(b)
	ok(t, err)
	same(t, "instances", n.instances(0), []string{"19@0", "9@4"})
	same(t, "mode switches", n.machine.Calls("nvmlDeviceSetMigMode"), 1)
	ok(t, n.U(a))
	same(t, "instances", n.instances(0), []string{"19@0"})
	same(t, "mode", n.mode(0), sim.MIGMode{Current: true, Pending: true})
	ok(t, n.U(b))
	same(t, "instances", n.instances(0), []string{})
	same(t, "mode", n.mode(0), sim.MIGMode{})
	same(t, "CDI files", n.cdiFiles(), []string(nil))
}

// awaitPublished waits until a device is published.
func (n *node) awaitPublished(names ...string) {
	n.t.Helper()
	eventually(n.t, soon, func() string {
		have := n.devices()
		for _, name := range names {
			if _, there := have[name]; !there {
				return fmt.Sprintf("%s is not published; published are %d devices", name, len(have))
			}
		}
		return ""
	})
}

// refuseOnce has the next call of this name answer with a code.
func (n *node) refuseNext(call string, code sim.Code, times uint64) {
	n.t.Helper()
	for nth := range times {
		ok(n.t, n.machine.Inject(sim.Fault{ID: fmt.Sprint(call, nth), Match: sim.Match{Call: call}, When: sim.When{Nth: nth + 1}, Do: sim.Do{Return: &code}}))
	}
}

// refuseAll has every call of this name answer with a code until the faults are
// cleared.
func (n *node) refuseAll(call string, code sim.Code) {
	n.t.Helper()
	ok(n.t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: call}, Do: sim.Do{Return: &code}}))
}

// Monitoring with adminAccess next to a tenant's partition (kubernetes/kubernetes
// #128838): it destroys nothing and switches nothing.
func TestF07AdminAccessNextToAPartition(t *testing.T) {
	const part = "gpu-0-mig-1g10gb-19-6"
	for _, order := range []string{"tenant first", "monitor first"} {
		t.Run(order, func(t *testing.T) {
			n := newMIGNode(t, "H100-80")
			tenant, monitor := n.claim("tenant", part), n.adminClaim("monitor", part)
			first, second := tenant, monitor
			if order == "monitor first" {
				first, second = monitor, tenant
			}
			_, err := n.P(first)
			ok(t, err)
			_, err = n.P(second)
			ok(t, err)
			got, err := n.P(monitor)
			ok(t, err)
			same(t, "what the monitor sees", nodesOf(n.container(ids(got))), append(n.capabilities(0, 0), "/dev/nvidia0"))
			before := n.machine.Calls("nvml*")
			ok(t, n.U(monitor))
			same(t, "changes by the monitor's end", n.machine.Calls("nvml*")-before, 0)
			same(t, "instances", n.instances(0), []string{"19@6"})
			_, err = n.P(n.claim("next", part))
			refused(t, err, part+" is held by claim ns/tenant", string(tenant.UID))
			ok(t, n.U(tenant))
			same(t, "instances at the end", n.instances(0), []string{})
		})
	}
}

// capabilities are the paths of the capability nodes of the nth instance of a
// GPU, in their order.
func (n *node) capabilities(gpu, nth int) []string {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	gi := s.GPUs[gpu].GIs[nth]
	out := []string{
		fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", sim.CapabilityGI(s.GPUs[gpu].Minor, gi.ID)),
		fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", sim.CapabilityCI(s.GPUs[gpu].Minor, gi.ID, gi.CIs[0].ID)),
	}
	slices.Sort(out)
	return out
}

// Two pods share one claim for a partition, with restarts between
// (kubernetes/kubernetes#140212, #140527).
func TestF08TwoPodsShareAPartition(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	c := n.claim("c", "gpu-0-mig-2g20gb-14-4")
	first, err := n.P(c)
	ok(t, err)
	changes := n.machine.Calls("nvml*")
	for range 2 {
		n.restart()
		again, err := n.P(c)
		ok(t, err)
		same(t, "the answer", asJSON(t, again), asJSON(t, first))
	}
	same(t, "changes by repeats", n.machine.Calls("nvml*")-changes, 0)
	ok(t, n.U(c))
	ok(t, n.U(c))
	same(t, "instances", n.instances(0), []string{})
	same(t, "mode", n.mode(0).Current, false)
}

// The second prepare wrote "started" over "completed" (dra-driver-nvidia-gpu#754,
// #727, #729).
func TestF50PrepareAPartitionTwice(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	c := n.claim("c", "gpu-0-mig-1g10gb-19-3")
	_, err := n.P(c)
	ok(t, err)
	_, err = n.P(c)
	ok(t, err)
	same(t, "records", n.records(), map[string]string{string(c.UID): "prepared"})
	n.restart()
	same(t, "records", n.records(), map[string]string{string(c.UID): "prepared"})
	same(t, "instances", n.instances(0), []string{"19@3"})
	ok(t, n.U(c))
	same(t, "records", n.records(), map[string]string{})
	same(t, "instances", n.instances(0), []string{})
}

// An id of a kind whose spec was never written (dra-driver-nvidia-gpu#736): every
// id of a claim with partitions of several GPUs and a whole one resolves.
func TestF64EveryIDOfPartitionsResolves(t *testing.T) {
	n := newMIGNode(t, "H100-80", "H100-80", "H100-80")
	got, err := n.P(n.claim("c", "gpu-0-mig-1g10gb-19-3", "gpu-1-mig-3g40gb-9-4", "gpu-2", "gpu-1-mig-4g40gb-5-0"))
	ok(t, err)
	same(t, "ids", len(ids(got)), 4)
	for i, id := range ids(got) {
		nodes := nodesOf(n.container([]string{id}))
		if want := []int{3, 3, 1, 3}[i]; len(nodes) != want {
			t.Errorf("%s gives the nodes %v, want %d", id, nodes, want)
		}
	}
}

// MIG ids have two forms (canonical/lxd#9518): ids of CDI devices are built from
// claim and device, and which form the driver uses shows nowhere in them.
func TestF65CharactersInMIGUUIDs(t *testing.T) {
	n := newNode(t, []string{"A100-40"})
	ok(t, n.machine.SetMIG(0, true))
	ok(t, n.machine.CreateInstance(0, 9, 4, true))
	ok(t, n.machine.NameInstance(0, 0, "MIG-GPU-932bfb2c-849a-2a22-1e84-9eff6bc02b39/7/0"))
	n.start()
	n.awaitPublished("gpu-0-mig-3g20gb-9-4")
	same(t, "published uuid", *n.devices()["gpu-0-mig-3g20gb-9-4"].Attributes["uuid"].StringValue, "MIG-GPU-932bfb2c-849a-2a22-1e84-9eff6bc02b39/7/0")
	c := n.claim("c", "gpu-0-mig-3g20gb-9-4")
	got, err := n.P(c)
	ok(t, err)
	same(t, "ids", ids(got), []string{"k8s.gpu.nvidia.com/claim=" + string(c.UID) + "-gpu-0-mig-3g20gb-9-4"})
	same(t, "nodes", nodesOf(n.container(ids(got))), append(n.capabilities(0, 0), "/dev/nvidia0"))
	ok(t, n.U(c))
}

// A GPU that can be partitioned and tells no memory size (dra-driver-nvidia-gpu
// #1073): it is published without one, and its partitions with theirs.
func TestF71MemorySizeOfAPartitionedGPU(t *testing.T) {
	n := newNode(t, []string{"H100-80"})
	n.refuseAll("nvmlDeviceGetMemoryInfo", sim.NotSupported)
	n.kinds.set(everything())
	n.start()
	n.awaitPublished("gpu-0")
	devices := n.devices()
	if _, published := devices["gpu-0"].Capacity["memory"]; published {
		t.Error("gpu-0 publishes a memory size that nobody told")
	}
	same(t, "devices", len(devices), 26)
	c := n.schedule("c", scheduler.Request("a", "mig.nvidia.com", 1, `device.capacity['gpu.nvidia.com'].?memory.orValue(quantity('0')).compareTo(quantity('30Gi')) >= 0`))
	same(t, "placed", where(c), []string{"9@4"})
	_, err := n.P(c)
	ok(t, err)
	ok(t, n.U(c))
}

// Both calls pass the check before either records its claim (kubernetes/kubernetes
// #129442): seven partitions of an idle GPU at once, the first of which switches
// the mode.
func TestF95SevenPartitionsAtOnce(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	n.awaitPublished("gpu-0")
	for round := range 12 {
		switches := n.machine.Calls("nvmlDeviceSetMigMode")
		var claims []*resourceapi.ResourceClaim
		for start := range 7 {
			claims = append(claims, n.claim(fmt.Sprintf("c%d-%d", round, start), fmt.Sprintf("gpu-0-mig-1g10gb-19-%d", start)))
		}
		for i, err := range n.atOnce(claims...) {
			if err != nil {
				t.Fatalf("round %d: claim %d: %v", round, i, err)
			}
		}
		same(t, "instances", n.instances(0), []string{"19@0", "19@1", "19@2", "19@3", "19@4", "19@5", "19@6"})
		same(t, "mode switches", n.machine.Calls("nvmlDeviceSetMigMode")-switches, 1)
		// One of two that overlap wins, and the loser leaves nothing.
		over := n.claim(fmt.Sprintf("over-%d", round), "gpu-0-mig-3g40gb-9-4")
		_, err := n.P(over)
		refused(t, err, "is held by way of gpu-0-mig-1g10gb-19-")
		for _, c := range claims {
			ok(t, n.U(c))
		}
		same(t, "mode", n.mode(0).Current, false)
		a, b := n.claim(fmt.Sprintf("a-%d", round), "gpu-0"), n.claim(fmt.Sprintf("b-%d", round), "gpu-0-mig-1g10gb-19-6")
		errs := n.atOnce(a, b)
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("round %d: whole: %v, partition: %v; want exactly one to win", round, errs[0], errs[1])
		}
		same(t, "records", len(n.records()), 1)
		ok(t, n.U(a))
		ok(t, n.U(b))
		same(t, "instances", n.instances(0), []string{})
	}
}

// An image sets NVIDIA_VISIBLE_DEVICES and NVIDIA_MIG_MONITOR_DEVICES
// (NVIDIA/gpu-operator#700): a container gets the nodes of its partition and of
// no other, and neither the config nor the monitor capability.
func TestF97CapabilitiesOfAPartition(t *testing.T) {
	n := newMIGNode(t, "H100-80", "H100-80")
	a, err := n.P(n.claim("a", "gpu-1-mig-1g10gb-19-6"))
	ok(t, err)
	b, err := n.P(n.claim("b", "gpu-1-mig-1g10gb-19-5"))
	ok(t, err)
	for i, given := range [][]string{ids(a), ids(b)} {
		spec := n.container(given, "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_MONITOR_DEVICES=all", "NVIDIA_MIG_CONFIG_DEVICES=all")
		same(t, "nodes", nodesOf(spec), append(n.capabilities(1, i), "/dev/nvidia1"))
		if !slices.Contains(spec.Process.Env, "NVIDIA_VISIBLE_DEVICES=void") || slices.Contains(spec.Process.Env, "NVIDIA_VISIBLE_DEVICES=all") {
			t.Errorf("the environment is %v", spec.Process.Env)
		}
		for _, d := range spec.Linux.Devices {
			if strings.HasPrefix(d.Path, "/dev/nvidia-caps/") && d.Minor <= 2 {
				t.Errorf("%s is the config or the monitor capability", d.Path)
			}
		}
		for _, m := range spec.Mounts {
			if !contains(m.Options, "ro") {
				t.Errorf("mount %s is writable: %v", m.Destination, m.Options)
			}
		}
	}
}

// NVML lists several compute instance profiles of the full size, of which later
// ones cannot be made (dra-driver-nvidia-gpu#1480).
func TestF22TwoComputeInstanceProfilesOfOneName(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	n.awaitPublished("gpu-0")
	seen := map[string]bool{}
	for name, d := range n.devices() {
		if p := d.Attributes["profile"].StringValue; p != nil {
			seen[*p+"@"+name[strings.LastIndex(name, "-"):]] = true
		}
	}
	same(t, "profile and start, each once", len(seen), 25)
	for _, name := range []string{"gpu-0-mig-7g80gb-0-0", "gpu-0-mig-1g10gb-19-2", "gpu-0-mig-1g20gb-15-2"} {
		c := n.claim(name, name)
		_, err := n.P(c)
		ok(t, err)
		s, err := n.machine.State()
		ok(t, err)
		gi := s.GPUs[0].GIs[0]
		want := map[int]int{0: 4, 19: 0, 15: 7}[gi.ProfileID]
		if len(gi.CIs) != 1 || gi.CIs[0].ProfileID != want {
			t.Errorf("%s has the compute instances %+v, want one of profile %d", name, gi.CIs, want)
		}
		ok(t, n.U(c))
	}
}

// The first half of a creation worked; what was left could not be found by a MIG
// device handle, and blocked every retry (dra-driver-nvidia-gpu#1452).
func TestF23GPUInstanceMadeComputeInstanceRefused(t *testing.T) {
	const part = "gpu-0-mig-3g40gb-9-4"
	t.Run("once", func(t *testing.T) {
		n := newMIGNode(t, "H100-80")
		n.refuseNext("nvmlGpuInstanceCreateComputeInstance", sim.Insufficient, 1)
		c := n.claim("c", part)
		_, err := n.P(c)
		refused(t, err, "create the compute instance of "+part, "Insufficient Resources")
		same(t, "instances after the failure", n.instances(0), []string{})
		same(t, "records after the failure", n.records(), map[string]string{})
		same(t, "mode after the failure", n.mode(0).Current, false)
		_, err = n.P(c)
		ok(t, err)
		same(t, "instances", n.instances(0), []string{"9@4"})
	})
	t.Run("and the first half cannot be destroyed", func(t *testing.T) {
		for _, then := range []string{"prepare", "restart"} {
			n := newMIGNode(t, "H100-80")
			n.refuseAll("nvmlGpuInstanceCreateComputeInstance", sim.Insufficient)
			n.refuseAll("nvmlGpuInstanceDestroy", sim.InUse)
			c := n.claim("c", part)
			_, err := n.P(c)
			refused(t, err, "destroy the MIG instance of "+part)
			same(t, "instances", n.instances(0), []string{"9@4!"})
			ok(t, n.machine.ClearFaults())
			if then == "restart" {
				n.restart()
				same(t, "instances after the restart", n.instances(0), []string{})
			}
			_, err = n.P(c)
			ok(t, err)
			same(t, "instances", n.instances(0), []string{"9@4"})
			ok(t, n.U(c))
		}
	})
	t.Run("the compute instance went, the GPU instance did not", func(t *testing.T) {
		n := newMIGNode(t, "H100-80")
		c := n.claim("c", part)
		_, err := n.P(c)
		ok(t, err)
		n.refuseAll("nvmlGpuInstanceDestroy", sim.InUse)
		refused(t, n.U(c), "destroy the MIG instance of "+part, "In use by another client")
		same(t, "instances", n.instances(0), []string{"9@4!"})
		ok(t, n.machine.ClearFaults())
		ok(t, n.U(c))
		same(t, "instances", n.instances(0), []string{})
	})
}

// The process is killed after the driver made the instance and before anybody
// heard of it: it is found by its place.
func TestKilledBetweenMakingAndNoting(t *testing.T) {
	const part = "gpu-0-mig-2g20gb-14-2"
	for _, call := range []string{"nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance"} {
		for _, when := range []string{"before", "after"} {
			t.Run(call+" "+when, func(t *testing.T) {
				n := newMIGNode(t, "H100-80")
				c := n.claim("c", part)
				n.crashAt(call, when == "before", c)
				n.start()
				same(t, "instances after the restart", n.instances(0), []string{})
				same(t, "records after the restart", n.records(), map[string]string{})
				_, err := n.P(c)
				ok(t, err)
				same(t, "instances", n.instances(0), []string{"14@2"})
				ok(t, n.U(c))
				same(t, "instances at the end", n.instances(0), []string{})
			})
		}
	}
}

// Somebody makes an instance between the last look and a prepare: the claim that
// would have its place, or the whole GPU, is refused, and the instance stays.
func TestInstanceMadeSinceTheLastLook(t *testing.T) {
	for _, device := range []string{"gpu-0-mig-2g20gb-14-2", "gpu-0-mig-4g40gb-5-0", "gpu-0"} {
		t.Run(device, func(t *testing.T) {
			n := newNode(t, []string{"H100-80"})
			n.lookEvery = time.Hour
			n.kinds.set(everything())
			n.start()
			n.awaitPublished(device)
			ok(t, n.machine.SetMIG(0, true))
			ok(t, n.machine.CreateInstance(0, 14, 2, true))
			c := n.claim("c", device)
			_, err := n.P(c)
			refused(t, err, "nvidia-smi mig -lgi")
			same(t, "instances", n.instances(0), []string{"14@2"})
			same(t, "records", n.records(), map[string]string{})
			same(t, "mode", n.mode(0).Current, true)
			ok(t, n.U(c))
			same(t, "instances after the release", n.instances(0), []string{"14@2"})
		})
	}
}

// Somebody destroyed a claim's instance and made another in its place: that one
// is theirs, whatever its ids are.
func TestReplacedInstanceIsSomebodyElses(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	c := n.claim("c", "gpu-0-mig-2g20gb-14-2")
	_, err := n.P(c)
	ok(t, err)
	ok(t, n.machine.DestroyInstances(0))
	ok(t, n.machine.CreateInstance(0, 14, 2, true))
	ok(t, n.machine.NameInstance(0, 0, "MIG-11111111-2222-5333-8444-555555555555"))
	_, err = n.P(c)
	refused(t, err, "no longer there", "delete the pod")
	ok(t, n.U(c))
	same(t, "instances", n.instances(0), []string{"14@2"})
	same(t, "mode", n.mode(0).Current, true)
	same(t, "records", n.records(), map[string]string{})
}

// The mode call succeeds, and its activation waits for a reset that nobody can do
// (dra-driver-nvidia-gpu#883, #1018, NVIDIA/gpu-operator#1845).
func TestF25ModeChangeNeedsAReset(t *testing.T) {
	n := newNode(t, []string{"A100-40", "A100-40"})
	ok(t, n.machine.SetMIG(0, true))
	n.kinds.set(everything())
	n.start()
	n.awaitPublished("gpu-0-mig-1g5gb-19-0", "gpu-1")
	for name := range n.devices() {
		if strings.HasPrefix(name, "gpu-1-mig-") {
			t.Errorf("%s is published while MIG mode is off and needs a reset", name)
		}
	}
	c := n.claim("c", "gpu-0-mig-1g5gb-19-0")
	_, err := n.P(c)
	ok(t, err)
	ok(t, n.U(c))
	same(t, "mode switches", n.machine.Calls("nvmlDeviceSetMigMode"), 0)
	same(t, "mode", n.mode(0), sim.MIGMode{Current: true, Pending: true})
	_, err = n.P(n.claim("d", "gpu-1-mig-1g5gb-19-0"))
	refused(t, err, "MIG mode of gpu-1 is off", "needs a reset of the GPU")
	same(t, "mode of gpu-1", n.mode(1), sim.MIGMode{})
	same(t, "instances of gpu-1", n.instances(1), []string{})
	_, err = n.P(n.claim("e", "gpu-0"))
	refused(t, err, "MIG mode of gpu-0 is on", "needs a reset of the GPU")
}

// The same on a GPU of a generation that needs none, in a virtual machine where
// it does: nothing is left pending, and nothing more of that kind is offered.
func TestF25ActivationWaitsForAReset(t *testing.T) {
	n := newNode(t, []string{"H100-80"})
	n.retire = sharing.Patience{Wait: 1, Again: 1}
	n.kinds.set(everything())
	n.start()
	n.awaitPublished("gpu-0-mig-1g10gb-19-0")
	ok(t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetMigMode"}, When: sim.When{Nth: 1}, Do: sim.Do{Activation: new(sim.ResetRequired)}}))
	c := n.claim("c", "gpu-0-mig-1g10gb-19-0")
	_, err := n.P(c)
	refused(t, err, "only by a reset of the GPU")
	same(t, "mode", n.mode(0), sim.MIGMode{})
	same(t, "records", n.records(), map[string]string{})
	n.deleteClaim(c)
	n.awaitDevices("gpu-0")
}

// Somebody uses the GPU when its mode should flip (NVIDIA/mig-parted#181, #357,
// dra-driver-nvidia-gpu#883).
func TestF26SomebodyUsesTheGPU(t *testing.T) {
	const part = "gpu-0-mig-1g10gb-19-0"
	t.Run("a tenant has all of it", func(t *testing.T) {
		n := newMIGNode(t, "H100-80", "H100-80")
		_, err := n.P(n.claim("tenant", "gpu-0"))
		ok(t, err)
		before := n.machine.Calls("nvmlDeviceSetMigMode")
		_, err = n.P(n.claim("m", part))
		refused(t, err, part+" is held by way of gpu-0 by claim ns/tenant")
		same(t, "mode switches", n.machine.Calls("nvmlDeviceSetMigMode")-before, 0)
	})
	t.Run("switching on", func(t *testing.T) {
		n := newMIGNode(t, "H100-80")
		ok(t, n.machine.AddProcess(sim.Process{PID: 4711, Virtual: true, Kind: sim.Compute, Name: "dcgm"}))
		c := n.claim("m", part)
		_, err := n.P(c)
		refused(t, err, "cannot be switched on", "In use by another client")
		same(t, "records", n.records(), map[string]string{})
		same(t, "mode", n.mode(0), sim.MIGMode{})
		ok(t, n.machine.KillProcess(4711))
		_, err = n.P(c)
		ok(t, err)
	})
	t.Run("switching off", func(t *testing.T) {
		n := newMIGNode(t, "H100-80")
		c := n.claim("m", part)
		_, err := n.P(c)
		ok(t, err)
		fault := sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetMigMode"}, Do: sim.Do{Activation: new(sim.InUse)}}
		ok(t, n.machine.Inject(fault))
		ok(t, n.U(c))
		n.deleteClaim(c)
		same(t, "mode", n.mode(0).Current, true)
		n.awaitTaint("gpu-0", "cotenant.dev/held")
		same(t, "a whole GPU", n.schedule("w", wholes("a", 1)) == nil, true)
		again := n.schedule("again", slice("a", "1g.10gb", 1))
		same(t, "a partition", where(again), []string{"19@6"})
		n.deleteClaim(again)
		n.restart()
		n.awaitTaint("gpu-0", "cotenant.dev/held")
		ok(t, n.machine.ClearFaults())
		eventually(t, soon, func() string {
			if n.mode(0).Current || taintKeys(n.devices()["gpu-0"]) != "" {
				return "MIG mode is still on, or the whole GPU not offered"
			}
			return ""
		})
	})
}

// Somebody ran nvidia-smi by hand (dra-driver-nvidia-gpu#149, #473, #1018).
func TestF28InstancesNobodyRecorded(t *testing.T) {
	n := newNode(t, []string{"H100-80"})
	n.retire = sharing.Patience{Wait: 1, Again: 1}
	n.kinds.set(everything())
	n.start()
	a := n.claim("a", "gpu-0-mig-1g10gb-19-0")
	_, err := n.P(a)
	ok(t, err)
	n.stop()
	ok(t, n.machine.CreateInstance(0, 15, 6, true))
	ok(t, n.machine.AddProcess(sim.Process{PID: 4711, Virtual: true, Kind: sim.Compute, GI: n.gi(0, 15), CI: new(0)}))
	n.start()
	overlapping := []string{"gpu-0", "gpu-0-mig-1g10gb-19-6", "gpu-0-mig-3g40gb-9-4", "gpu-0-mig-1g20gb-15-6", "gpu-0-mig-7g80gb-0-0"}
	eventually(t, soon, func() string {
		for _, name := range overlapping {
			if d, published := n.devices()[name]; published && !strings.Contains(taintKeys(d), "cotenant.dev/") {
				return name + " is offered over somebody's instance"
			}
		}
		return ""
	})
	same(t, "a whole GPU", n.schedule("w", wholes("x", 1)) == nil, true)
	same(t, "a 3g", n.schedule("3g", slice("x", "3g.40gb", 1)) == nil, true)
	same(t, "the instances", n.instances(0), []string{"15@6", "19@0"})
	_, err = n.P(a)
	ok(t, err) // a is untouched
	// With an offer of what is there it is a device, and not while somebody uses it.
	n.kinds.set(policy("p", wholeGPU(), onDemand("*"), existing()))
	n.awaitTaint("gpu-0-mig-1g20gb-15-6", "cotenant.dev/held")
	ok(t, n.machine.KillProcess(4711))
	eventually(t, soon, func() string {
		d := n.devices()["gpu-0-mig-1g20gb-15-6"]
		if d.Attributes["uuid"].StringValue == nil || taintKeys(d) != "" {
			return "somebody's idle instance is not offered"
		}
		return ""
	})
	c := n.schedule("c", slice("x", "1g.20gb", 1), slice("y", "1g.20gb", 1))
	_, err = n.P(c)
	ok(t, err)
	n.finish(c)
	n.finish(a)
	same(t, "it is never destroyed", n.instances(0), []string{"15@6"})
	same(t, "and the mode stays on for it", n.mode(0).Current, true)
	// One appears while the plugin runs.
	ok(t, n.machine.CreateInstance(0, 14, 0, true))
	n.awaitPublished("gpu-0-mig-2g20gb-14-0")
	eventually(t, soon, func() string {
		if d := n.devices()["gpu-0-mig-2g20gb-14-0"]; d.Attributes["uuid"].StringValue == nil {
			return "it is still the one that would be made"
		}
		return ""
	})
	same(t, "events", len(n.events("ForeignInstance")), 2)
}

// A metrics agent leaks a handle, so that destroying fails for a while
// (NVIDIA/DCGM#276, #95).
func TestF29DestroyFailsInUse(t *testing.T) {
	const part = "gpu-0-mig-1g10gb-19-3"
	n := newMIGNode(t, "H100-80")
	c, d := n.claim("c", part), n.claim("d", part)
	_, err := n.P(c)
	ok(t, err)
	switches := n.machine.Calls("nvmlDeviceSetMigMode")
	n.refuseAll("nvmlComputeInstanceDestroy", sim.InUse)
	for range 3 {
		refused(t, n.U(c), part, "In use by another client")
		same(t, "records", n.records(), map[string]string{string(c.UID): "releasing"})
		_, err = n.P(d)
		refused(t, err, part+" is held by claim ns/c")
	}
	same(t, "mode switches", n.machine.Calls("nvmlDeviceSetMigMode")-switches, 0)
	ok(t, n.machine.ClearFaults())
	ok(t, n.U(c))
	same(t, "records", n.records(), map[string]string{})
	_, err = n.P(d)
	ok(t, err)
	// A moment in use is waited for.
	n.refuseNext("nvmlComputeInstanceDestroy", sim.InUse, 3)
	ok(t, n.U(d))
}

// While one release asks again and again, other GPUs are served.
func TestBusyInstanceHoldsUpNobodyElse(t *testing.T) {
	n := newMIGNode(t, "H100-80", "H100-80")
	busy, other := n.claim("busy", "gpu-0-mig-1g10gb-19-3"), n.claim("other", "gpu-1-mig-1g10gb-19-3")
	_, err := n.P(busy)
	ok(t, err)
	n.refuseAll("nvmlComputeInstanceDestroy", sim.InUse)
	released := make(chan error, 1)
	go func() { released <- n.U(busy) }()
	eventually(t, soon, func() string {
		if n.records()[string(busy.UID)] != "releasing" {
			return "the release has not begun"
		}
		return ""
	})
	_, err = n.P(other)
	ok(t, err)
	select {
	case err := <-released:
		t.Errorf("the release had ended (%v) before the other claim was prepared", err)
	default:
	}
	refused(t, <-released, "In use by another client")
	ok(t, n.machine.ClearFaults())
	ok(t, n.U(busy))
	ok(t, n.U(other))
}

// gi is the id of the GPU instance of a profile.
func (n *node) gi(gpu, profile int) *int {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	for _, gi := range s.GPUs[gpu].GIs {
		if gi.ProfileID == profile {
			return &gi.ID
		}
	}
	n.t.Fatalf("GPU %d has no instance of profile %d", gpu, profile)
	return nil
}

// events are the events of a reason.
func (n *node) events(reason string) []corev1.Event {
	n.t.Helper()
	list, err := n.client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	ok(n.t, err)
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.Reason != reason })
}

// crashAt has the plugin die in a call while it prepares the claim, before the
// call has its effect or after, and leaves it stopped.
func (n *node) crashAt(call string, before bool, c *resourceapi.ResourceClaim) {
	n.t.Helper()
	ok(n.t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: call}, When: sim.When{Nth: 1}, Do: sim.Do{CrashBefore: before, CrashAfter: !before}}))
	_, err := n.P(c)
	refused(n.t, err, "killed")
	same(n.t, "records", n.records(), map[string]string{string(c.UID): "preparing"})
	rec, _, err := n.store.Claim(string(c.UID))
	ok(n.t, err)
	// What a step learnt is on disk before the next one runs.
	fact, begun := rec.Facts["gpu-0-mig-2g20gb-14-2"]
	same(n.t, "the place was found empty", begun, call != "nvmlDeviceSetMigMode")
	if call == "nvmlGpuInstanceCreateComputeInstance" {
		same(n.t, "the id of the GPU instance", fact.GI, *n.gi(0, 14))
	}
	n.stop()
	ok(n.t, n.machine.ClearFaults())
}

// A lost journal takes no partition from a claim and leaves none behind: what was
// made for whom stands in the CDI specs. What somebody else made stays theirs.
func TestLostJournalWithPartitions(t *testing.T) {
	n := newNode(t, []string{"H100-80", "H100-80"})
	n.check = checkInChild
	n.kinds.set(policy("p", wholeGPU(), onDemand("*"), existing()))
	ok(t, n.machine.SetMIG(1, true))
	ok(t, n.machine.CreateInstance(1, 19, 0, true))
	n.start()
	n.awaitPublished("gpu-1-mig-1g10gb-19-0")
	kept, gone, busy, found := n.claim("kept", "gpu-0-mig-1g10gb-19-6"), n.claim("gone", "gpu-0-mig-3g40gb-9-0"), n.claim("busy", "gpu-1-mig-3g40gb-9-4"), n.claim("found", "gpu-1-mig-1g10gb-19-0")
	before := map[string]string{}
	for _, c := range []*resourceapi.ResourceClaim{kept, gone, busy, found} {
		got, err := n.P(c)
		ok(t, err)
		before[c.Name] = asJSON(t, got)
	}
	ok(t, n.machine.AddProcess(sim.Process{PID: 4711, GPU: 0, Virtual: true, Kind: sim.Compute, GI: n.gi(0, 19), CI: new(0)}))
	ok(t, n.machine.AddProcess(sim.Process{PID: 4712, GPU: 1, Virtual: true, Kind: sim.Compute, GI: n.gi(1, 9), CI: new(0)}))
	n.stop()
	n.deleteClaim(gone)
	n.deleteClaim(busy)
	ok(t, os.WriteFile(n.paths.Journal(), []byte("not a journal"), 0o600))
	n.start()
	eventually(t, soon, func() string {
		if got := n.instances(0); !slices.Equal(got, []string{"19@6"}) {
			return fmt.Sprint("GPU 0 has ", got)
		}
		return ""
	})
	same(t, "what is still in use", n.instances(1), []string{"19@0", "9@4"})
	n.awaitTaint("gpu-1-mig-1g10gb-19-0", "cotenant.dev/held")
	for _, c := range []*resourceapi.ResourceClaim{kept, found} {
		again, err := n.P(c)
		ok(t, err)
		same(t, c.Name+" is answered", asJSON(t, again), before[c.Name])
	}
	ok(t, n.machine.KillProcess(4711))
	n.finish(kept)
	same(t, "GPU 0 at the end", n.instances(0), []string{})
	same(t, "its mode", n.mode(0).Current, false)
	ok(t, n.machine.KillProcess(4712))
	eventually(t, soon, func() string {
		if got := n.instances(1); !slices.Equal(got, []string{"19@0"}) {
			return fmt.Sprint("GPU 1 has ", got)
		}
		return ""
	})
	n.finish(found)
	same(t, "somebody's instance", n.instances(1), []string{"19@0"})
	same(t, "records", n.records(), map[string]string{})
}

// The same while the partition is taken back: the next start finishes it.
func TestKilledWhileTakingBack(t *testing.T) {
	for _, call := range []string{"nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy", "nvmlDeviceSetMigMode"} {
		for _, when := range []string{"before", "after"} {
			t.Run(call+" "+when, func(t *testing.T) {
				n := newMIGNode(t, "H100-80")
				c := n.claim("c", "gpu-0-mig-2g20gb-14-2")
				_, err := n.P(c)
				ok(t, err)
				ok(t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: call}, When: sim.When{Nth: 1}, Do: sim.Do{CrashBefore: when == "before", CrashAfter: when == "after"}}))
				refused(t, n.U(c), "killed")
				same(t, "records", n.records(), map[string]string{string(c.UID): "releasing"})
				n.stop()
				ok(t, n.machine.ClearFaults())
				n.start()
				same(t, "records after the restart", n.records(), map[string]string{})
				same(t, "instances after the restart", n.instances(0), []string{})
				same(t, "mode after the restart", n.mode(0).Current, false)
				ok(t, n.U(c))
			})
		}
	}
}

// After a reboot the instances are gone and the claims are still allocated: they
// are made again, and a release without a prepare finds nothing to do.
func TestRebootWithPartitions(t *testing.T) {
	n := newNode(t, []string{"H100-80", "A100-40"})
	ok(t, n.machine.SetMIG(1, true))
	n.kinds.set(everything())
	n.start()
	again, gone := n.claim("again", "gpu-0-mig-2g20gb-14-2"), n.claim("gone", "gpu-1-mig-3g20gb-9-4")
	for _, c := range []*resourceapi.ResourceClaim{again, gone} {
		_, err := n.P(c)
		ok(t, err)
	}
	n.reboot()
	same(t, "records", n.records(), map[string]string{})
	got, err := n.P(again)
	ok(t, err)
	same(t, "nodes", nodesOf(n.container(ids(got))), append(n.capabilities(0, 0), "/dev/nvidia0"))
	same(t, "instances", n.instances(0), []string{"14@2"})
	ok(t, n.U(gone))
	same(t, "mode of the A100", n.mode(1).Current, true)
	ok(t, n.U(again))
	same(t, "mode of the H100", n.mode(0).Current, false)
}

// A GPU with partitions falls off the bus: its claims are released, what is left
// of them is destroyed when it answers again, and only then it is free.
func TestLostGPUWithPartitions(t *testing.T) {
	for _, back := range []string{"with its instances", "reset"} {
		t.Run(back, func(t *testing.T) {
			n := newMIGNode(t, "H100-80", "H100-80")
			c, beside := n.claim("c", "gpu-0-mig-3g40gb-9-4"), n.claim("beside", "gpu-1-mig-3g40gb-9-4")
			for _, c := range []*resourceapi.ResourceClaim{c, beside} {
				_, err := n.P(c)
				ok(t, err)
			}
			hung := sim.Fault{ID: "lost", Match: sim.Match{Call: "nvmlDeviceGetUUID", GPU: new(0)}, Do: sim.Do{Return: new(sim.GPUIsLost)}}
			if back == "reset" {
				ok(t, n.machine.LoseGPU(0))
			} else {
				ok(t, n.machine.Inject(hung))
			}
			n.awaitTaint("gpu-0-mig-3g40gb-9-4", "gpu.nvidia.com/gpu-lost")
			ok(t, n.U(c))
			ok(t, n.U(c))
			ok(t, n.U(beside))
			same(t, "records", n.records(), map[string]string{string(c.UID): "releasing"})
			n.restart()
			_, err := n.P(n.claim("next", "gpu-0-mig-1g10gb-19-6"))
			refused(t, err, "lost")
			if back == "reset" {
				ok(t, n.machine.RestoreGPU(0))
			} else {
				ok(t, n.machine.ClearFaults())
			}
			n.awaitTaint("gpu-0-mig-3g40gb-9-4", "")
			same(t, "records", n.records(), map[string]string{})
			same(t, "instances", n.instances(0), []string{})
			same(t, "mode", n.mode(0).Current, false)
		})
	}
}
