// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package sharing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// Four pods of two namespaces share one GPU by MPS, each held to its own limits as a
// CUDA program sees them; the fifth goes to the other GPU; a whole GPU is waited for;
// and all is as before after the last.
func TestFourShareByMPS(t *testing.T) {
	lt := begin(t)
	lt.Use(namespaces("tenant-a", "tenant-b"))
	type tenant struct{ namespace, name string }
	var tenants []tenant
	for i := range 5 {
		who := tenant{[]string{"tenant-a", "tenant-b"}[i%2], fmt.Sprint("q", i)}
		tenants = append(tenants, who)
		lt.Use(holding(who.namespace, who.name, "nvidia.com/gpu.quarter"))
	}
	on := map[string]int{}
	for _, who := range tenants {
		r := lt.started(who.namespace, who.name)
		d := r.Devices[0]
		on[d.UUID]++
		if r.Error != "" || d.Error != "" || r.MPS == nil || d.Limit != 18432 || d.Threads != 25 || d.Has != 1024 {
			t.Errorf("%s/%s: %+v", who.namespace, who.name, r)
		}
		if second := lt.cuda(who.namespace, who.name, "main", "--memory", "18433Mi"); second.Devices[0].Error != "CUDA_ERROR_OUT_OF_MEMORY" {
			t.Errorf("%s/%s has more than its share: %+v", who.namespace, who.name, second)
		}
	}
	if on[lt.gpu(0).UUID]+on[lt.gpu(1).UUID] != 5 || on[lt.gpu(0).UUID]*on[lt.gpu(1).UUID] != 4 {
		t.Errorf("pods by GPU: %v", on)
	}
	told, err := lt.Kubectl(context.Background(), "-n", "tenant-a", "exec", "q0", "--", "env")
	lt.OK(err)
	for _, want := range []string{"COTENANT_OFFER=quarter", "COTENANT_SHARE=1/4", "COTENANT_MEMORY_BYTES=19327352832", "COTENANT_MEMORY_FRACTION=0.2259",
		"COTENANT_COMPUTE_PERCENT=25", "COTENANT_MEMORY_LIMIT=process", "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps", "NVIDIA_VISIBLE_DEVICES=void"} {
		if !strings.Contains(told, want+"\n") {
			t.Errorf("a container is not told %s", want)
		}
	}
	lt.Use(onClaim("default", "whole", "gpu.nvidia.com"))
	lt.Unschedulable("whole")
	for i, who := range tenants {
		if i == 4 {
			break
		}
		lt.end(who.namespace, who.name)
	}
	// One GPU is free now, and the fifth still has its share of the other.
	if r := lt.started("default", "whole"); r.MPS != nil || r.Error != "" || r.Devices[0].Limit != 0 || r.Devices[0].Threads != 100 {
		t.Errorf("the pod with a whole GPU: %+v", r)
	}
	lt.end("tenant-a", "q4")
	lt.end("default", "whole")
	lt.asBefore()
}

// Eight pods of two namespaces take turns on one GPU, the ninth goes to the other,
// and a whole GPU waits for all of them.
func TestEightTakeTurns(t *testing.T) {
	lt := begin(t)
	lt.Use(namespaces("tenant-a", "tenant-b"))
	on := map[string]int{}
	for i := range 9 {
		lt.Use(onClaim([]string{"tenant-a", "tenant-b"}[i%2], fmt.Sprint("t", i), "burst"))
	}
	for i := range 9 {
		r := lt.started([]string{"tenant-a", "tenant-b"}[i%2], fmt.Sprint("t", i))
		if r.Error != "" || r.MPS != nil || r.Devices[0].Has != 1024 {
			t.Errorf("pod %d: %+v", i, r)
		}
		on[r.Devices[0].UUID]++
	}
	if on[lt.gpu(0).UUID]*on[lt.gpu(1).UUID] != 8 {
		t.Errorf("pods by GPU: %v", on)
	}
	for i := range 2 {
		lt.Same(fmt.Sprint("time-slice and compute mode of GPU ", i), fmt.Sprint(lt.gpu(i).TimeSlice, lt.gpu(i).ComputeMode), fmt.Sprint(1, sim.ComputeDefault))
	}
	lt.Use(onClaim("default", "whole", "gpu.nvidia.com"))
	lt.Unschedulable("whole")
	for i := range 9 {
		lt.end([]string{"tenant-a", "tenant-b"}[i%2], fmt.Sprint("t", i))
	}
	lt.started("default", "whole")
	lt.end("default", "whole")
	lt.asBefore()
}

// While MPS clients run the plugin's pod is replaced, and the plugin killed: no
// client notices, and what is released afterwards is released.
func TestClientsDoNotNoticeThePlugin(t *testing.T) {
	lt := begin(t)
	for _, name := range []string{"a", "b"} {
		lt.Use(holding("default", name, "nvidia.com/gpu.quarter"))
		lt.started("default", name)
	}
	servers := lt.started("default", "a").MPS.Server
	before, err := lt.pods(context.Background(), "kubelet-plugin")
	lt.OK(err)
	lt.Same("plugins killed", lt.kill("/cotenant-plugin", ""), 1)
	lt.renewed("kubelet-plugin", before)
	before, err = lt.pods(context.Background(), "kubelet-plugin")
	lt.OK(err)
	// A new revision of the DaemonSet, as an upgrade of the chart makes it.
	_, err = lt.Kubectl(context.Background(), "-n", lab.Namespace, "rollout", "restart", "daemonset", "-l", "dra-driver-nvidia-gpu-component=kubelet-plugin")
	lt.OK(err)
	lt.renewed("kubelet-plugin", before)
	for _, name := range []string{"a", "b"} {
		if said := lt.said("default", name); strings.Contains(said, "lost") {
			t.Errorf("%s noticed: %s", name, said)
		}
		if r := lt.cuda("default", name, "main", "--memory", "1Gi"); r.Error != "" || r.MPS == nil || r.MPS.Server != servers || r.Devices[0].Limit != 18432 {
			t.Errorf("%s afterwards: %+v", name, r)
		}
	}
	lt.Use(holding("default", "c", "nvidia.com/gpu.quarter"))
	if r := lt.started("default", "c"); r.MPS == nil || r.MPS.Server != servers {
		t.Errorf("the third pod has another server: %+v", r)
	}
	lt.end("default", "a", "b", "c")
	lt.asBefore()
}

// A daemon is killed, and then the supervisor: both times it serves again within
// seconds, with the same limits and in the same directories, which containers have
// mounted; GPUNode, taint and events say so; and a release still succeeds.
func TestDaemonAndSupervisorKilled(t *testing.T) {
	lt := begin(t)
	for _, name := range []string{"a", "b"} {
		lt.Use(onClaim("default", name, "serve"))
		lt.started("default", name)
	}
	for i, victim := range []struct{ program, word string }{{"/nvidia-cuda-mps-control", "-f"}, {"/cotenant-mps", ""}} {
		before := lt.shares()
		killed := lt.kill(victim.program, victim.word)
		began := time.Now()
		if killed < 1 {
			t.Fatalf("no %s to kill", victim.program)
		}
		lt.Eventually(30*time.Second, func(context.Context) (string, error) {
			now := lt.shares()
			if now.Restarts <= before.Restarts {
				return fmt.Sprintf("GPUNode says %+v", now), nil
			}
			return "", nil
		})
		lt.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
			out, err := lt.Kubectl(ctx, "exec", "a", "--", "sh", "-c", simcuda+" run --memory 1Gi || true")
			if err != nil {
				return "", err
			}
			var r run
			if first, _, _ := strings.Cut(out, "\n"); json.Unmarshal([]byte(first), &r) != nil || r.MPS == nil || r.Devices[0].Limit != 18432 || r.Devices[0].Threads != 25 {
				return "simcuda says " + out, nil
			}
			return "", nil
		})
		t.Logf("%s: serves its clients again after %s, kubectl's time and polling included", victim.program, time.Since(began).Round(10*time.Millisecond))
		lt.Eventually(time.Minute, func(ctx context.Context) (string, error) {
			if s := lt.shares(); s.Broken != "" {
				return fmt.Sprintf("GPUNode says %+v", s), nil
			}
			events, err := lt.Client().CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=GPUNeighbourFault"})
			if err != nil {
				return "", err
			}
			about := map[string]int{}
			for _, e := range events.Items {
				about[e.InvolvedObject.Kind+" "+e.InvolvedObject.Name]++
			}
			if about["ResourceClaim a"] <= i || about["ResourceClaim b"] <= i {
				return fmt.Sprintf("events: %v", about), nil
			}
			devices, err := lt.Devices(ctx, node)
			if err != nil || len(devices[lt.shares().Device].Taints) > 0 {
				return "tainted still", err
			}
			return "", nil
		})
	}
	lt.end("default", "a", "b")
	lt.asBefore()
}

// shares is what GPUNode says about the shares by MPS that have restarts, or else
// of the first GPU that has holders.
func (t test) shares() v1alpha1.NodeShares {
	t.Helper()
	out, err := t.Kubectl(context.Background(), "get", "gpunode", node, "-o", "json")
	t.OK(err)
	var n v1alpha1.GPUNode
	t.OK(json.Unmarshal([]byte(out), &n))
	for _, g := range n.Status.GPUs {
		for _, s := range g.Shares {
			if s.Offer == "quarter" && len(g.Holds) > 0 {
				return s
			}
		}
	}
	return v1alpha1.NodeShares{}
}
