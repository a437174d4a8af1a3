// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package labtest is a lab as tests use it: what they apply is removed after
// them, and what does not come about in time fails them.
package labtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/cotenant-dev/cotenant/test/lab"
)

// T is a test with a lab.
type T struct {
	*testing.T
	*lab.Lab
}

// OK fails the test at once when there is an error.
func (t T) OK(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Same compares.
func (t T) Same(what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// Eventually waits until the condition returns "".
func (t T) Eventually(within time.Duration, condition func(context.Context) (string, error)) {
	t.Helper()
	t.OK(lab.Eventually(context.Background(), within, condition))
}

// Image is what containers of tests run; it lies on every node.
const Image = "cotenant.test/busybox:1"

// Example returns a file of the manual's examples, with its image replaced by the
// one that the nodes have.
func (t T) Example(name string) string {
	t.Helper()
	raw, err := os.ReadFile(t.Path("docs/examples/" + name + ".yaml"))
	t.OK(err)
	return strings.ReplaceAll(string(raw), "image: ubuntu:24.04\n", "image: "+Image+"\n    imagePullPolicy: Never\n")
}

// Use applies manifests and removes what they made at the end of the test, the
// last first.
func (t T) Use(manifests string) {
	t.Helper()
	t.OK(t.Apply(context.Background(), manifests))
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifests), len(manifests))
	for {
		var obj unstructured.Unstructured
		if err := reader.Decode(&obj.Object); err != nil {
			return
		}
		if obj.Object == nil {
			continue
		}
		kind := strings.ToLower(obj.GetKind())
		if group, _, _ := strings.Cut(obj.GetAPIVersion(), "/"); strings.Contains(group, ".") {
			kind += "." + group
		}
		args := []string{"delete", "--ignore-not-found", "--wait", kind, obj.GetName()}
		if ns := obj.GetNamespace(); ns != "" {
			args = append(args, "-n", ns)
		}
		t.Cleanup(func() {
			_, err := t.Kubectl(context.Background(), args...)
			t.OK(err)
		})
	}
}

// Running waits until a pod of the default namespace runs.
func (t T) Running(pod string) *corev1.Pod {
	t.Helper()
	p, err := t.PodRunning(context.Background(), "default", pod)
	t.OK(err)
	return p
}

// Sees is what `nvidia-smi -L` lists in a container. A kubelet that has just been
// restarted does not answer at once.
func (t T) Sees(pod, container string) string {
	t.Helper()
	seen := ""
	t.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
		args := []string{"exec", pod}
		if container != "" {
			args = append(args, "-c", container)
		}
		out, err := t.Kubectl(ctx, append(args, "--", "nvidia-smi", "-L")...)
		seen = strings.TrimSpace(out)
		return "", err
	})
	return seen
}

// Devices are what a node publishes, by name.
func (t T) Devices(ctx context.Context, node string) (map[string]resourceapi.Device, error) {
	list, err := t.Client().ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=gpu.nvidia.com,spec.nodeName=" + node})
	if err != nil {
		return nil, err
	}
	out := map[string]resourceapi.Device{}
	for _, s := range list.Items {
		for _, d := range s.Spec.Devices {
			out[d.Name] = d
		}
	}
	return out, nil
}

// OCISpec reads what runc was given for a container of a pod of the default
// namespace.
func (t T) OCISpec(node, pod, container string, into any) {
	t.Helper()
	id := ""
	for _, c := range t.Running(pod).Status.ContainerStatuses {
		if c.Name == container {
			id = strings.TrimPrefix(c.ContainerID, "containerd://")
		}
	}
	out, err := t.Exec(context.Background(), node, "sh", "-c", "cat $(find /run/containerd -path '*/"+id+"/config.json' | head -1)")
	t.OK(err)
	t.OK(json.Unmarshal([]byte(out), into))
}

// Unschedulable waits until the scheduler says that the pod cannot be placed.
func (t T) Unschedulable(pod string) {
	t.Helper()
	t.Eventually(time.Minute, func(ctx context.Context) (string, error) {
		p, err := t.Client().CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				return "", nil
			}
		}
		return fmt.Sprintf("pod %s is %s", pod, p.Status.Phase), nil
	})
}

// DeletePod deletes a pod and waits until it is gone.
func (t T) DeletePod(pods ...string) {
	t.Helper()
	_, err := t.Kubectl(context.Background(), append([]string{"delete", "--wait", "pod"}, pods...)...)
	t.OK(err)
}
