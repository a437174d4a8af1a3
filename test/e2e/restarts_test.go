// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/walkthrough"
)

const node = walkthrough.GPUNode

// pluginPod is the plugin's pod and how often its container was restarted.
func pluginPod(ctx context.Context) (*corev1.Pod, int32, error) {
	list, err := cluster.Client().CoreV1().Pods(lab.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "dra-driver-nvidia-gpu-component=kubelet-plugin"})
	if err != nil {
		return nil, 0, err
	}
	if len(list.Items) != 1 || len(list.Items[0].Status.ContainerStatuses) != 1 {
		return nil, 0, fmt.Errorf("%d plugin pods", len(list.Items))
	}
	return &list.Items[0], list.Items[0].Status.ContainerStatuses[0].RestartCount, nil
}

// killPlugin kills the plugin as the kernel's OOM killer would, and waits until
// another process serves.
func killPlugin(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	_, before, err := pluginPod(ctx)
	ok(t, err)
	out, err := cluster.Exec(ctx, node, "sh", "-c", `for p in /proc/[0-9]*; do [ "$(readlink $p/exe)" = /usr/bin/cotenant-plugin ] && grep -q . $p/cmdline && kill -9 ${p#/proc/} && echo killed; done; true`)
	ok(t, err)
	if strings.Count(out, "killed") != 1 {
		t.Fatalf("killed %q, want one plugin", out)
	}
	eventually(t, time.Minute, func(ctx context.Context) (string, error) {
		pod, now, err := pluginPod(ctx)
		if err != nil {
			return "", err
		}
		if now <= before || !pod.Status.ContainerStatuses[0].Ready {
			return "the plugin is not back", nil
		}
		return "", nil
	})
}

// specFiles are the CDI specs on the node.
func specFiles(t *testing.T) string {
	t.Helper()
	out, err := cluster.Exec(context.Background(), node, "sh", "-c", "ls /var/run/cdi /etc/cdi 2>/dev/null | grep k8s.gpu.nvidia.com || true")
	ok(t, err)
	return strings.TrimSpace(out)
}

// nothingLeft proves that the release of the test's claims left nothing.
func nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) (string, error) {
		shown, err := cluster.Kubectl(ctx, "-n", lab.Namespace, "exec", "ds/"+daemonSet(ctx, t), "--", "cotenant-plugin", "journal", "show")
		if err != nil {
			return "", err
		}
		if !strings.Contains(shown, "0 claims, 0 fences, 0 disagreements") {
			return "the journal holds:\n" + shown, nil
		}
		return "", nil
	})
	same(t, "CDI specs left", specFiles(t), "")
}

func daemonSet(ctx context.Context, t *testing.T) string {
	t.Helper()
	list, err := cluster.Client().AppsV1().DaemonSets(lab.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "dra-driver-nvidia-gpu-component=kubelet-plugin"})
	ok(t, err)
	if len(list.Items) != 1 {
		t.Fatalf("%d DaemonSets in %s", len(list.Items), lab.Namespace)
	}
	return list.Items[0].Name
}

// kill -9 of the plugin: pods go on, the same grant is answered, no slice is
// written.
func TestPluginKilled(t *testing.T) {
	ctx := context.Background()
	apply(t, claimManifest("kept")+onClaim("before", "kept"))
	pod := running(t, "before")
	published, err := slices(ctx)
	ok(t, err)
	specs := specFiles(t)
	killPlugin(t)
	same(t, "the pod that ran sees", gpus(t, "before"), theGPU(t))
	after := running(t, "before")
	same(t, "restarts of its container", after.Status.ContainerStatuses[0].RestartCount, pod.Status.ContainerStatuses[0].RestartCount)
	// Another pod on the claim makes the kubelet prepare it again.
	apply(t, onClaim("after", "kept"))
	running(t, "after")
	same(t, "the pod that came sees", gpus(t, "after"), theGPU(t))
	same(t, "CDI specs", specFiles(t), specs)
	now, err := slices(ctx)
	ok(t, err)
	if !maps.EqualFunc(published, now, equalSlices) {
		t.Errorf("slices were written: %v, before %v", now, published)
	}
	deletePod(t, "before")
	deletePod(t, "after")
	nothingLeft(t)
}

// A kubelet that restarts deletes the node's slices: pods go on, identical slices
// are back within five seconds.
func TestKubeletRestarts(t *testing.T) {
	ctx := context.Background()
	apply(t, claimManifest("kept")+onClaim("lives", "kept"))
	running(t, "lives")
	before, err := slices(ctx)
	ok(t, err)
	ok(t, cluster.NodeAction(ctx, "restart-kubelet", node))
	eventually(t, 5*time.Second, func(ctx context.Context) (string, error) {
		now, err := slices(ctx)
		if err != nil {
			return "", err
		}
		for _, a := range before {
			for _, b := range now {
				if a.UID != b.UID && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) {
					return "", nil
				}
			}
		}
		return fmt.Sprintf("%d slices, none of them a new one like the old", len(now)), nil
	})
	same(t, "the pod sees", gpus(t, "lives"), theGPU(t))
	apply(t, onClaim("late", "kept"))
	running(t, "late")
	same(t, "the pod that came sees", gpus(t, "late"), theGPU(t))
	deletePod(t, "lives")
	deletePod(t, "late")
	nothingLeft(t)
}

// A node that reboots makes new sandboxes, which prepare the same devices;
// nothing of the old boot remains.
func TestNodeReboots(t *testing.T) {
	ctx := context.Background()
	apply(t, claimManifest("kept")+onClaim("survivor", "kept"))
	before := running(t, "survivor")
	ok(t, cluster.Machine(node).Reboot())
	ok(t, cluster.NodeAction(ctx, "reboot", node))
	eventually(t, 3*time.Minute, func(ctx context.Context) (string, error) {
		p, err := cluster.Client().CoreV1().Pods("default").Get(ctx, "survivor", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		c := p.Status.ContainerStatuses
		if len(c) != 1 || !c[0].Ready || c[0].ContainerID == before.Status.ContainerStatuses[0].ContainerID {
			return "the pod has no new running container", nil
		}
		return "", nil
	})
	same(t, "the pod sees", gpus(t, "survivor"), theGPU(t))
	if n := strings.Count(specFiles(t), "k8s.gpu.nvidia.com"); n != 1 {
		t.Errorf("%d CDI specs, want the survivor's", n)
	}
	deletePod(t, "survivor")
	nothingLeft(t)
}

// A GPU that falls off the bus is tainted within 15 s, and is back in service
// within 15 s of coming back, without a restart of the plugin.
func TestGPULostAndBack(t *testing.T) {
	ctx := context.Background()
	_, restarts, err := pluginPod(ctx)
	ok(t, err)
	lost := func(want bool) {
		t.Helper()
		eventually(t, 15*time.Second, func(ctx context.Context) (string, error) {
			published, err := slices(ctx)
			if err != nil {
				return "", err
			}
			for _, s := range published {
				for _, d := range s.Spec.Devices {
					if tainted := len(d.Taints) == 1 && d.Taints[0].Key == "gpu.nvidia.com/gpu-lost"; tainted == want {
						return "", nil
					}
				}
			}
			return fmt.Sprintf("no slice where lost is %v", want), nil
		})
	}
	lost(false)
	ok(t, cluster.Machine(node).LoseGPU(0))
	lost(true)
	apply(t, extended("unlucky"))
	on(t).Unschedulable("unlucky")
	ok(t, cluster.Machine(node).RestoreGPU(0))
	lost(false)
	running(t, "unlucky")
	_, now, err := pluginPod(ctx)
	ok(t, err)
	same(t, "restarts of the plugin", now, restarts)
}
