// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/lab"
)

const singleGPU = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: single-gpu, namespace: default}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, allocationMode: ExactCount, count: 1}
`

const gpuTest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: gpu-test, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: gpu-test}}
  template:
    metadata: {labels: {app: gpu-test}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: ctr
        image: cotenant.test/busybox:1
        imagePullPolicy: Never
        command: [sh, -c, "nvidia-smi -L; sleep 600"]
        resources: {claims: [{name: gpu}]}
      resourceClaims: [{name: gpu, resourceClaimTemplateName: single-gpu}]
`

func template(ctx context.Context, l *lab.Lab) (string, error) {
	if err := l.Apply(ctx, singleGPU); err != nil {
		return "", err
	}
	shown, err := l.Kubectl(ctx, "get", "resourceclaimtemplate")
	if err == nil && !strings.Contains(shown, "single-gpu") {
		err = errors.New("the template is not listed")
	}
	return shown, err
}

func workload(ctx context.Context, l *lab.Lab) (string, error) {
	if err := l.Apply(ctx, gpuTest); err != nil {
		return "", err
	}
	pod, err := deploymentPod(ctx, l)
	if err != nil {
		return "", err
	}
	if _, err := l.PodRunning(ctx, "default", pod.Name); err != nil {
		return "", err
	}
	return l.Kubectl(ctx, "get", "pods")
}

// deploymentPod waits for the deployment's pod to exist.
func deploymentPod(ctx context.Context, l *lab.Lab) (*corev1.Pod, error) {
	var pod *corev1.Pod
	err := lab.Eventually(ctx, 30*time.Second, func(ctx context.Context) (string, error) {
		list, err := l.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=gpu-test"})
		if err != nil {
			return "", err
		}
		if len(list.Items) != 1 {
			return fmt.Sprintf("%d pods", len(list.Items)), nil
		}
		pod = &list.Items[0]
		return "", nil
	})
	return pod, err
}

func claim(ctx context.Context, l *lab.Lab) (string, error) {
	listed, err := l.Kubectl(ctx, "get", "resourceclaims")
	if err != nil {
		return "", err
	}
	described, err := l.Kubectl(ctx, "describe", "resourceclaims")
	if err != nil {
		return listed, err
	}
	shown := listed + "\n" + described
	if !strings.Contains(listed, "allocated,reserved") {
		return shown, errors.New("the claim is not allocated,reserved")
	}
	claims, err := l.Client().ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return shown, err
	}
	if len(claims.Items) != 1 || claims.Items[0].Status.Allocation == nil {
		return shown, fmt.Errorf("%d claims, want one that is allocated", len(claims.Items))
	}
	pod, err := deploymentPod(ctx, l)
	if err != nil {
		return shown, err
	}
	return shown, allocation(claims.Items[0], pod)
}

func allocation(c resourceapi.ResourceClaim, pod *corev1.Pod) error {
	results := c.Status.Allocation.Devices.Results
	if len(results) != 1 {
		return fmt.Errorf("%d devices are allocated, want one", len(results))
	}
	errs := []error{
		want("device", results[0].Device, "gpu-0"),
		want("driver", results[0].Driver, "gpu.nvidia.com"),
		want("pool", results[0].Pool, GPUNode),
	}
	terms := c.Status.Allocation.NodeSelector
	if terms == nil || !strings.Contains(terms.String(), GPUNode) {
		errs = append(errs, fmt.Errorf("the node selector %v does not name %s", terms, GPUNode))
	}
	if len(c.Status.ReservedFor) != 1 || c.Status.ReservedFor[0].Name != pod.Name {
		errs = append(errs, fmt.Errorf("it is reserved for %v, want pod %s", c.Status.ReservedFor, pod.Name))
	}
	return errors.Join(errs...)
}

func inside(ctx context.Context, l *lab.Lab) (string, error) {
	shown, err := l.Kubectl(ctx, "logs", "deployment/gpu-test", "--all-pods=true")
	if err != nil {
		return "", err
	}
	state, err := l.Machine(GPUNode).State()
	if err != nil {
		return shown, err
	}
	line := fmt.Sprintf("GPU 0: NVIDIA A30 (UUID: %s)", state.GPUs[0].UUID)
	if !strings.Contains(shown, line) || strings.Count(shown, "GPU ") != 1 {
		return shown, fmt.Errorf("want exactly the line %q", line)
	}
	return shown, nil
}

// filterCase is a request with a selector, and whether the A30 meets it.
type filterCase struct {
	name, cel string
	matches   bool
}

func filterCases() []filterCase {
	return []filterCase{
		{"memory-fits", "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0", true},
		{"memory-too-small", "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0", false},
		{"architecture", "device.attributes['gpu.nvidia.com'].architecture == 'Ampere'", true},
		{"other-architecture", "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'", false},
		{"topology", "device.attributes['resource.kubernetes.io'].pcieRoot == 'pci0000:64' && device.attributes['gpu.nvidia.com'].driverVersion.isGreaterThan(semver('535.0.0'))", true},
	}
}

// filters asks for each selector in turn, once the GPU is free again. Which are
// met is the scheduler's own answer: a pod that runs, or one that is told that it
// cannot be.
func filters(ctx context.Context, l *lab.Lab) (string, error) {
	if _, err := l.Kubectl(ctx, "delete", "deployment", "gpu-test", "--wait"); err != nil {
		return "", err
	}
	var shown strings.Builder
	for _, c := range filterCases() {
		if err := l.Apply(ctx, filterPod(c)); err != nil {
			return shown.String(), err
		}
		if err := answered(ctx, l, c); err != nil {
			return shown.String(), err
		}
		fmt.Fprintf(&shown, "%-20s %-9s %s\n", c.name, map[bool]string{true: "chosen", false: "refused"}[c.matches], c.cel)
		if _, err := l.Kubectl(ctx, "delete", "--wait", "pod/"+c.name, "resourceclaim/"+c.name); err != nil {
			return shown.String(), err
		}
	}
	return shown.String(), nil
}

func answered(ctx context.Context, l *lab.Lab, c filterCase) error {
	if c.matches {
		_, err := l.PodRunning(ctx, "default", c.name)
		return err
	}
	return lab.Eventually(ctx, time.Minute, func(ctx context.Context) (string, error) {
		pod, err := l.Client().CoreV1().Pods("default").Get(ctx, c.name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, cond := range pod.Status.Conditions {
			if cond.Type == corev1.PodScheduled && cond.Reason == corev1.PodReasonUnschedulable && strings.Contains(cond.Message, "cannot allocate all claims") {
				return "", nil
			}
		}
		return fmt.Sprintf("pod %s is %s, want it told that no device matches: %v", c.name, pod.Status.Phase, pod.Status.Conditions), nil
	})
}

func filterPod(c filterCase) string {
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %[1]s, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors: [{cel: {expression: "%[2]s"}}]
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: ctr
    image: cotenant.test/busybox:1
    imagePullPolicy: Never
    command: [sleep, "600"]
    resources: {claims: [{name: gpu}]}
  resourceClaims: [{name: gpu, resourceClaimName: %[1]s}]
`, c.name, c.cel)
}
