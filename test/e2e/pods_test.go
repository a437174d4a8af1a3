// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/lab/labtest"
	"github.com/cotenant-dev/cotenant/test/walkthrough"
)

// on is the test with the cluster.
func on(t *testing.T) labtest.T { return labtest.T{T: t, Lab: cluster} }

func ok(t *testing.T, err error) {
	t.Helper()
	on(t).OK(err)
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
    image: `+labtest.Image+`
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
	on(t).Use(manifests)
}

func running(t *testing.T, pod string) *corev1.Pod {
	t.Helper()
	return on(t).Running(pod)
}

// gpus is what the pod's container sees.
func gpus(t *testing.T, pod string) string {
	t.Helper()
	return on(t).Sees(pod, "")
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
	on(t).Same(what, got, want)
}

func eventually(t *testing.T, within time.Duration, condition func(context.Context) (string, error)) {
	t.Helper()
	on(t).Eventually(within, condition)
}

func deletePod(t *testing.T, pod string) {
	t.Helper()
	on(t).DeletePod(pod)
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
	on(t).Unschedulable("waiter")
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
