// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/walkthrough"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// claimManifest is a claim for one whole GPU.
func claimManifest(name string) string {
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %s, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
---
`, name)
}

// podManifest is a pod that lists its GPUs and stays. gpu is what asks for one:
// the end of a container's and of a pod's spec.
func podManifest(name, resources, claims string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: ctr
    image: cotenant.test/busybox:1
    imagePullPolicy: Never
    command: [sh, -c, "nvidia-smi -L; sleep 3600"]
    resources: %s
  resourceClaims: %s
---
`, name, resources, claims)
}

func onClaim(pod, claim string) string {
	return podManifest(pod, "{claims: [{name: gpu}]}", fmt.Sprintf("[{name: gpu, resourceClaimName: %s}]", claim))
}

func extended(pod string) string {
	return podManifest(pod, `{limits: {nvidia.com/gpu: "1"}}`, "[]")
}

// apply applies manifests and removes what they made at the end of the test.
func apply(t *testing.T, manifests string) {
	t.Helper()
	ok(t, cluster.Apply(context.Background(), manifests))
	for _, doc := range strings.Split(manifests, "---\n") {
		for _, kind := range []string{"Pod", "ResourceClaim"} {
			if _, rest, found := strings.Cut(doc, "kind: "+kind+"\nmetadata: {name: "); found {
				name, _, _ := strings.Cut(rest, ",")
				t.Cleanup(func() {
					_, err := cluster.Kubectl(context.Background(), "delete", "--ignore-not-found", "--wait", strings.ToLower(kind)+"/"+name)
					ok(t, err)
				})
			}
		}
	}
}

func running(t *testing.T, pod string) *corev1.Pod {
	t.Helper()
	p, err := cluster.PodRunning(context.Background(), "default", pod)
	ok(t, err)
	return p
}

// gpus is what the pod's container sees. A kubelet that has just been restarted
// does not answer at once.
func gpus(t *testing.T, pod string) string {
	t.Helper()
	seen := ""
	eventually(t, 30*time.Second, func(ctx context.Context) (string, error) {
		out, err := cluster.Kubectl(ctx, "exec", pod, "--", "nvidia-smi", "-L")
		seen = strings.TrimSpace(out)
		return "", err
	})
	return seen
}

// theGPU is the one line that a container with the node's GPU must see.
func theGPU(t *testing.T) string {
	t.Helper()
	s, err := cluster.Machine(walkthrough.GPUNode).State()
	ok(t, err)
	return fmt.Sprintf("GPU 0: NVIDIA A30 (UUID: %s)", s.GPUs[0].UUID)
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func eventually(t *testing.T, within time.Duration, condition func(context.Context) (string, error)) {
	t.Helper()
	ok(t, lab.Eventually(context.Background(), within, condition))
}

// unschedulable waits until the scheduler says that the pod cannot be placed.
func unschedulable(t *testing.T, pod string) {
	t.Helper()
	eventually(t, time.Minute, func(ctx context.Context) (string, error) {
		p, err := cluster.Client().CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				return "", nil
			}
		}
		return "pod " + pod + " is " + string(p.Status.Phase), nil
	})
}

func deletePod(t *testing.T, pod string) {
	t.Helper()
	_, err := cluster.Kubectl(context.Background(), "delete", "--wait", "pod", pod)
	ok(t, err)
}

func TestTwoPodsOnOneClaim(t *testing.T) {
	apply(t, claimManifest("shared")+onClaim("one", "shared")+onClaim("two", "shared"))
	running(t, "one")
	running(t, "two")
	same(t, "pod one sees", gpus(t, "one"), theGPU(t))
	same(t, "pod two sees", gpus(t, "two"), theGPU(t))
	deletePod(t, "one")
	same(t, "pod two still sees", gpus(t, "two"), theGPU(t))
}

func TestPodWaitsForAHeldGPU(t *testing.T) {
	apply(t, claimManifest("first")+onClaim("holder", "first"))
	running(t, "holder")
	apply(t, claimManifest("second")+onClaim("waiter", "second"))
	unschedulable(t, "waiter")
	deletePod(t, "holder")
	running(t, "waiter")
	same(t, "the waiter sees", gpus(t, "waiter"), theGPU(t))
}

func TestExtendedResource(t *testing.T) {
	apply(t, extended("plain"))
	p := running(t, "plain")
	same(t, "the plain pod sees", gpus(t, "plain"), theGPU(t))
	if p.Status.ExtendedResourceClaimStatus == nil {
		t.Error("the pod did not get its GPU through DRA")
	}
}

// slices are the published ones, by name.
func slices(ctx context.Context) (map[string]resourceapi.ResourceSlice, error) {
	list, err := cluster.Client().ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=gpu.nvidia.com"})
	if err != nil {
		return nil, err
	}
	out := map[string]resourceapi.ResourceSlice{}
	for _, s := range list.Items {
		out[s.Name] = s
	}
	return out, nil
}

func equalSlices(a, b resourceapi.ResourceSlice) bool {
	return a.UID == b.UID && a.ResourceVersion == b.ResourceVersion
}
