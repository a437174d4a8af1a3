// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// mpsClaim creates a claim for whole GPUs with one MPS configuration.
func (n *node) mpsClaim(name, config string, devices ...string) *resourceapi.ResourceClaim {
	n.t.Helper()
	var pairs []string
	for i, d := range devices {
		pairs = append(pairs, fmt.Sprint("r", i), d)
	}
	return n.allocate(name, results(pairs...), []resourceapi.DeviceAllocationConfiguration{configured(gpuConfig(config))})
}

// An admin who watches changes nothing of what a tenant set up
// (kubernetes/kubernetes#128838). The MPS part of F07.
func TestF07AdminAccessNextToAnMPSTenant(t *testing.T) {
	for _, order := range []string{"T M -M N", "M T -M -T"} {
		t.Run(order, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80")
			tenant := n.mpsClaim("tenant", fiftyMPS, "gpu-0")
			monitor := n.adminClaim("monitor", "gpu-0", byClass(configured(inTurns(`"Long"`))))
			first, second := tenant, monitor
			if order[0] == 'M' {
				first, second = monitor, tenant
			}
			_, err := n.P(first)
			ok(t, err)
			_, err = n.P(second)
			ok(t, err)
			writes := n.machine.Calls("*")
			ok(t, n.U(monitor))
			same(t, "changes while the monitor goes", n.machine.Calls("*"), writes)
			same(t, "compute mode", n.compute(0), sim.ComputeExclusiveProcess)
			same(t, "interval", n.turns(0), 0)
			started, stopped := n.daemons.counted()
			same(t, "daemons started and stopped", []int{started, stopped}, []int{1, 0})
			_, err = n.P(n.claim("next", "gpu-0"))
			refused(t, err, "held by claim ns/tenant")
			ok(t, n.U(tenant))
			same(t, "compute mode at the end", n.compute(0), sim.ComputeDefault)
		})
	}
}

// Two pods share one claim: what is done for it is done once, and undone once
// (kubernetes/kubernetes#140212, #140527). The MPS part of F08.
func TestF08TwoPodsShareAnMPSClaim(t *testing.T) {
	n := newTurnsNode(t, "H100-80")
	c := n.mpsClaim("c", fiftyMPS, "gpu-0")
	first, err := n.P(c)
	ok(t, err)
	n.restart()
	for range 2 {
		again, err := n.P(c)
		ok(t, err)
		same(t, "answer", asJSON(t, again), asJSON(t, first))
	}
	started, _ := n.daemons.counted()
	same(t, "daemons started", started, 1)
	same(t, "changes of the compute mode", n.machine.Calls("nvmlDeviceSetComputeMode"), 1)
	ok(t, n.U(c))
	_, stopped := n.daemons.counted()
	same(t, "daemons stopped", stopped, 1)
	same(t, "compute mode", n.compute(0), sim.ComputeDefault)
	ok(t, n.U(c))
}

// A daemon that cannot be started or never serves keeps nobody on another GPU
// waiting, is waited for once, and leaves nothing (dra-driver-nvidia-gpu#230, #106,
// #1212, #469). That mounts and directories go too is shown in plugin/mps.
func TestF37DaemonNeverReady(t *testing.T) {
	for name, fails := range map[string]error{
		"refused":        errors.New("fork/exec nvidia-cuda-mps-control: operation not permitted"),
		"no tmpfs":       errors.New("mount a tmpfs on shm: operation not permitted"),
		"no supervisor":  api.Errorf(api.Unavailable, "nothing listens on /run/cotenant/mps.sock"),
		"it never comes": nil,
	} {
		t.Run(name, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80", "H100-80")
			c := n.mpsClaim("c", fiftyMPS, "gpu-0")
			if fails == nil {
				n.neverServes(c)
				return
			}
			n.daemons.set(func(d *daemons) { d.fails = fails })
			for range 4 {
				_, err := n.P(c)
				refused(t, err, "start the MPS control daemon "+string(c.UID), fails.Error())
				same(t, "compute mode after a failed try", n.compute(0), sim.ComputeDefault)
			}
			_, err := n.P(n.claim("d", "gpu-1"))
			ok(t, err)
			ok(t, n.U(c))
			same(t, "records", len(n.records()), 1)
			same(t, "daemons", len(n.daemons.running()), 0)
		})
	}
}

// neverServes is F37 with a daemon that is started and never answers.
func (n *node) neverServes(c *resourceapi.ResourceClaim) {
	n.t.Helper()
	n.daemons.hang(string(c.UID))
	answers := make(chan error, 4)
	for range 4 {
		go func() { _, err := n.P(c); answers <- err }()
	}
	n.await(func() string {
		if started, _ := n.daemons.counted(); started != 1 {
			return "the daemon was not started"
		}
		return ""
	})
	began := time.Now()
	d := n.claim("d", "gpu-1")
	_, err := n.P(d)
	ok(n.t, err)
	ok(n.t, n.U(d))
	if took := time.Since(began); took > 2*time.Second {
		n.t.Errorf("a claim on another GPU took %s", took)
	}
	ok(n.t, n.U(c)) // it ends the wait
	for range 4 {
		refused(n.t, <-answers, "released while it was being prepared")
	}
	started, stopped := n.daemons.counted()
	same(n.t, "daemons started and stopped", []int{started, stopped}, []int{1, 1})
	same(n.t, "compute mode", n.compute(0), sim.ComputeDefault)
	same(n.t, "records", n.records(), map[string]string{})
}

// A start that takes longer than the kubelet waits is not begun anew by its next
// call: each of them is told what is waited for, and one of them gets the grant. make
// bench does it with a start of a minute.
func TestSlowStartConverges(t *testing.T) {
	n := newNode(t, []string{"H100-80"})
	n.kinds.set(everything())
	n.answer = 50 * time.Millisecond
	n.start()
	c := n.mpsClaim("c", fiftyMPS, "gpu-0")
	serve := n.daemons.hang(string(c.UID))
	for range 3 {
		_, err := n.P(c)
		refused(t, err, "still starting the MPS control daemon "+string(c.UID), "the kubelet tries again")
	}
	_, err := n.P(n.claim("next", "gpu-0"))
	refused(t, err, "still waiting for another claim on the GPU at")
	serve()
	n.await(func() string {
		if _, err := n.P(c); err != nil {
			return err.Error()
		}
		return ""
	})
	started, stopped := n.daemons.counted()
	same(t, "daemons started and stopped", []int{started, stopped}, []int{1, 0})
}

// A GPU is never left in the exclusive mode (dra-driver-nvidia-gpu#1262, #1270).
func TestF38ComputeModeIsRestored(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		n := newTurnsNode(t, "H100-80")
		c := n.mpsClaim("c", byMPS, "gpu-0")
		_, err := n.P(c)
		ok(t, err)
		same(t, "compute mode meanwhile", n.compute(0), sim.ComputeExclusiveProcess)
		ok(t, n.U(c))
		_, err = n.P(n.claim("d", "gpu-0"))
		ok(t, err)
		same(t, "compute mode of the next tenant", n.compute(0), sim.ComputeDefault)
	})
	t.Run("prepare fails after it was set", func(t *testing.T) {
		n := newTurnsNode(t, "H100-80")
		n.daemons.set(func(d *daemons) { d.fails = errors.New("no") })
		c := n.mpsClaim("c", byMPS, "gpu-0")
		_, err := n.P(c)
		refused(t, err, "no")
		same(t, "compute mode", n.compute(0), sim.ComputeDefault)
	})
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed around it, after %t", after), func(t *testing.T) {
			n := newTurnsNode(t, "H100-80")
			crash := sim.Do{CrashBefore: !after, CrashAfter: after}
			ok(t, n.machine.Inject(sim.Fault{Match: sim.Match{Call: "nvmlDeviceSetComputeMode"}, Do: crash}))
			c := n.mpsClaim("c", byMPS, "gpu-0")
			_, err := n.P(c)
			refused(t, err, "internal error")
			ok(t, n.machine.ClearFaults())
			n.deleteClaim(c)
			n.restart()
			same(t, "compute mode after the restart", n.compute(0), sim.ComputeDefault)
			same(t, "records", n.records(), map[string]string{})
			_, err = n.P(n.claim("d", "gpu-0"))
			ok(t, err)
		})
	}
	t.Run("another mode before", func(t *testing.T) {
		n := newTurnsNode(t, "H100-80")
		n.preset(0, func(g *sim.GPU) { g.ComputeMode = sim.ComputeProhibited })
		c := n.mpsClaim("c", byMPS, "gpu-0")
		_, err := n.P(c)
		ok(t, err)
		ok(t, n.U(c))
		same(t, "compute mode", n.compute(0), sim.ComputeProhibited)
	})
}

// pod creates a pod that has the claims, by the names of its containers' references.
func (n *node) pod(name string, claims []*resourceapi.ResourceClaim, containers map[string][]corev1.ResourceClaim) {
	n.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-of-" + name)}}
	for _, c := range claims {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "ref-" + c.Name, ResourceClaimName: new(c.Name)})
		c.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: p.UID}}
		_, err := n.client.ResourceV1().ResourceClaims("ns").Update(context.Background(), c, metav1.UpdateOptions{})
		ok(n.t, err)
	}
	for container, refs := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: container, Resources: corev1.ResourceRequirements{Claims: refs}})
	}
	_, err := n.client.CoreV1().Pods("ns").Create(context.Background(), p, metav1.CreateOptions{})
	ok(n.t, err)
}

func refTo(c *resourceapi.ResourceClaim, request string) corev1.ResourceClaim {
	return corev1.ResourceClaim{Name: "ref-" + c.Name, Request: request}
}

// A container can be the client of one daemon (dra-driver-nvidia-gpu#1283, #1257).
func TestF40TwoDaemonsForOneContainer(t *testing.T) {
	t.Run("a: two configurations in a claim", func(t *testing.T) {
		n := newTurnsNode(t, "H100-80", "H100-80")
		_, err := n.P(n.allocate("c", results("x", "gpu-0", "y", "gpu-1"), []resourceapi.DeviceAllocationConfiguration{
			configured(gpuConfig(fiftyMPS), "x"), configured(gpuConfig(byMPS), "y")}))
		refused(t, err, "two MPS configurations")
		same(t, "daemons", len(n.daemons.running()), 0)
	})
	t.Run("b: one for both", func(t *testing.T) {
		n := newTurnsNode(t, "H100-80", "H100-80")
		c := n.mpsClaim("c", fiftyMPS, "gpu-0", "gpu-1")
		_, err := n.P(c)
		ok(t, err)
		uuids := []string{n.gpuState(0).UUID, n.gpuState(1).UUID}
		slices.Sort(uuids)
		same(t, "daemons", n.daemons.running(), map[string]sharing.Daemon{
			string(c.UID): {ID: string(c.UID), UUIDs: uuids, ActiveThreads: 50, PinnedMiB: []int64{0, 0}}})
	})
	for name, together := range map[string]bool{"c: two claims in one container": true, "d: in two": false} {
		t.Run(name, func(t *testing.T) {
			n := newTurnsNode(t, "H100-80", "H100-80")
			a, b := n.mpsClaim("a", byMPS, "gpu-0"), n.mpsClaim("b", byMPS, "gpu-1")
			containers := map[string][]corev1.ResourceClaim{"one": {refTo(a, "")}, "two": {refTo(b, "")}}
			if together {
				containers = map[string][]corev1.ResourceClaim{"one": {refTo(a, ""), refTo(b, "")}, "two": {refTo(b, "")}}
			}
			n.pod("p", []*resourceapi.ResourceClaim{a, b}, containers)
			answers := n.both(a, b)
			for _, c := range []string{"a", "b"} {
				if together != strings.Contains(answers[c], "container one of pod ns/p would be a client of 2 MPS daemons") {
					t.Errorf("claim %s: %q", c, answers[c])
				}
			}
			want := 2
			if together {
				want = 0
			}
			same(t, "daemons", len(n.daemons.running()), want)
		})
	}
	t.Run("shares for two containers in one claim", func(t *testing.T) {
		n := newSharedNode(t, []string{"H100-80", "H100-80"}, quarterByMPS())
		n.awaitShares("quarter")
		for i := range 3 {
			_, err := n.P(n.schedule(fmt.Sprint("other", i), of("r", "quarter")))
			ok(t, err)
		}
		split := n.schedule("split", of("x", "quarter"), of("y", "quarter"))
		devices := split.Status.Allocation.Devices.Results
		if devices[0].Device == devices[1].Device {
			t.Fatalf("both shares are of %s", devices[0].Device)
		}
		_, err := n.P(split)
		refused(t, err, "would be a client of 2 MPS daemons") // whose container uses what is not known
		n.pod("p", []*resourceapi.ResourceClaim{split}, map[string][]corev1.ResourceClaim{"one": {refTo(split, "x")}, "two": {refTo(split, "y")}})
		_, err = n.P(split)
		ok(t, err)
		n.pod("q", []*resourceapi.ResourceClaim{split}, map[string][]corev1.ResourceClaim{"both": {refTo(split, "")}})
		_, err = n.P(split)
		refused(t, err, "container both of pod ns/q")
	})
}

// Whatever is missing already, a release ends; what is busy is tried again
// (dra-driver-nvidia-gpu#365, #106). That directories and mounts go is shown in
// plugin/mps.
func TestF41TeardownOfWhatIsGone(t *testing.T) {
	n := newTurnsNode(t, "H100-80")
	c := n.mpsClaim("c", byMPS, "gpu-0")
	_, err := n.P(c)
	ok(t, err)
	n.daemons.set(func(d *daemons) { d.busy = api.Errorf(api.InUse, "unmount shm: device or resource busy") })
	refused(t, n.U(c), "busy")
	same(t, "records", n.records(), map[string]string{string(c.UID): "releasing"})
	same(t, "compute mode", n.compute(0), sim.ComputeExclusiveProcess)
	n.daemons.set(func(d *daemons) { d.busy = errors.New("500") })
	refused(t, n.U(c), "500")
	n.daemons.set(func(d *daemons) { d.busy = nil })
	ok(t, n.daemons.Stop(t.Context(), string(c.UID))) // somebody ended it
	n.preset(0, func(g *sim.GPU) { g.ComputeMode = sim.ComputeDefault })
	ok(t, n.U(c))
	ok(t, n.U(c))
	same(t, "records", n.records(), map[string]string{})
	same(t, "compute mode", n.compute(0), sim.ComputeDefault)
}

// Every id of MPS claims and shares resolves. The MPS part of F64.
func TestF64EveryIDOfSharesResolves(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80", "H100-80", "H100-80"}, wholeGPU(), quarterByMPS(), eighthInTurns(""))
	n.awaitShares("quarter", "eighth")
	var all []string
	for _, c := range []*resourceapi.ResourceClaim{n.schedule("a", of("r", "quarter")), n.schedule("b", of("r", "eighth")), n.schedule("d", of("r", "quarter")), n.mpsClaim("c", byMPS, "gpu-0")} {
		got, err := n.P(c)
		ok(t, err)
		all = append(all, ids(got)...)
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(n.paths.CDIRoot))
	ok(t, err)
	for i, id := range all {
		if cache.GetDevice(id) == nil {
			t.Errorf("id %s resolves to nothing", id)
		}
		if slices.Contains(all[:i], id) {
			t.Errorf("id %s was given out twice", id)
		}
	}
}

// What containers on shares are given and told; nothing that is not theirs is
// writable but the pipe and the memory of their own daemon. The MPS part of F97.
func TestF97SharesInContainers(t *testing.T) {
	n := newSharedNode(t, []string{"H100-80", "H100-80"}, quarterByMPS(), eighthInTurns("Short"))
	n.awaitShares("quarter", "eighth")
	for offer, want := range map[string][]string{
		"quarter": {"COTENANT_OFFER=quarter", "COTENANT_SHARE=1/4", "COTENANT_COMPUTE_PERCENT=25", "COTENANT_MEMORY_LIMIT=process",
			"COTENANT_MEMORY_BYTES=20711473152", "COTENANT_MEMORY_FRACTION=0.2421", "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps"},
		"eighth": {"COTENANT_OFFER=eighth", "COTENANT_SHARE=1/8", "COTENANT_COMPUTE_PERCENT=100", "COTENANT_MEMORY_LIMIT=none",
			"COTENANT_MEMORY_BYTES=10355736576", "COTENANT_MEMORY_FRACTION=0.121", "CUDA_MPS_PIPE_DIRECTORY=/elsewhere"},
	} {
		c := n.schedule(offer, of("r", offer))
		got, err := n.P(c)
		ok(t, err)
		spec := n.container(ids(got), "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_GPU_MEMORY_REQUEST=70000", "COTENANT_SHARE=4/4", "CUDA_MPS_PIPE_DIRECTORY=/elsewhere")
		var told []string
		for _, e := range spec.Process.Env {
			if strings.HasPrefix(e, "COTENANT_") || strings.HasPrefix(e, "CUDA_MPS_") {
				told = append(told, e)
			}
		}
		slices.Sort(told)
		slices.Sort(want)
		same(t, "what a container on "+offer+" is told", told, want)
		if !contains(spec.Process.Env, "NVIDIA_VISIBLE_DEVICES=void") {
			t.Errorf("%s: the variable is %v", offer, spec.Process.Env)
		}
		i := map[string]int{"gpu-0": 0, "gpu-1": 1}[sharing.GPUOf(deviceOf(c))]
		same(t, "nodes of "+offer, nodesOf(spec), []string{fmt.Sprintf("/dev/nvidia%d", n.gpuState(i).Minor)})
		writable := map[string]string{}
		for _, m := range spec.Mounts {
			if !contains(m.Options, "ro") {
				writable[m.Destination] = m.Source
			}
		}
		mounts := map[string]string{}
		if offer == "quarter" {
			dir := filepath.Join(n.paths.MPSRoot, deviceOf(c))
			mounts = map[string]string{"/dev/shm": dir + "/shm", "/tmp/nvidia-mps": dir + "/pipe"}
		}
		same(t, "writable mounts of "+offer, writable, mounts)
		for _, h := range append(spec.Hooks.CreateContainer, spec.Hooks.CreateRuntime...) {
			if contains(h.Args, "apply-cuda-memory-limits") {
				t.Errorf("%s: the hook that obeys the pod's author is there", offer)
			}
		}
		n.finish(c)
	}
}
