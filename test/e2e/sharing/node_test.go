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

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/lab/labtest"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// test is a test on the cluster, with the manual's policy in force.
type test struct{ labtest.T }

func begin(t *testing.T) test {
	t.Helper()
	lt := test{labtest.T{T: t, Lab: cluster}}
	lt.Use(lt.Example("policy-shares"))
	lt.Eventually(time.Minute, func(ctx context.Context) (string, error) {
		devices, err := lt.Devices(ctx, node)
		if err != nil {
			return "", err
		}
		fit := 0
		for name, d := range devices {
			if (strings.Contains(name, "-quarter-") || strings.Contains(name, "-eighth-")) && len(d.Taints) == 0 {
				fit++
			}
		}
		if fit != 4 {
			return fmt.Sprintf("%d of 4 shared devices are published and free of taints; published are %d", fit, len(devices)), nil
		}
		return "", nil
	})
	return lt
}

// gpu is a GPU of the node now.
func (t test) gpu(i int) sim.GPU {
	t.Helper()
	s, err := t.Machine(node).State()
	t.OK(err)
	return s.GPUs[i]
}

// asBefore waits until both GPUs are as they were before anybody used them, and
// nothing is left of anybody.
func (t test) asBefore() {
	t.Helper()
	t.Eventually(time.Minute, func(ctx context.Context) (string, error) {
		s, err := t.Machine(node).State()
		if err != nil {
			return "", err
		}
		for i, g := range s.GPUs {
			if g.ComputeMode != sim.ComputeDefault || g.TimeSlice != 0 || g.MIG.Current || len(g.GIs) > 0 {
				return fmt.Sprintf("GPU %d has compute mode %d, time-slice %d, %d instances", i, g.ComputeMode, g.TimeSlice, len(g.GIs)), nil
			}
		}
		if len(s.Processes) > 0 {
			return fmt.Sprintf("processes on the GPUs: %+v", s.Processes), nil
		}
		left, err := t.Exec(ctx, node, "sh", "-c", "ls -d /run/cotenant/mps/*/ 2>/dev/null; ls /var/run/cdi | grep k8s.gpu.nvidia.com; grep cotenant/mps/ /proc/self/mountinfo; true")
		if err != nil || strings.TrimSpace(left) != "" {
			return "left on the node: " + left, err
		}
		return "", nil
	})
}

// run is what simcuda says when it starts.
type run struct {
	Error string `json:"error"`
	MPS   *struct {
		Server int `json:"server"`
	} `json:"mps"`
	Devices []struct {
		UUID     string  `json:"uuid"`
		Limit    int64   `json:"limitMiB"`
		Threads  float64 `json:"activeThreadPercentage"`
		Memory   int64   `json:"memoryMiB"`
		Has      int64   `json:"allocatedMiB"`
		Error    string  `json:"error"`
		Multiple int     `json:"multiprocessors"`
	} `json:"devices"`
}

const simcuda = "/run/cotenant-sim/bin/simcuda"

// cuda runs simcuda in a container and returns what it says.
func (t test) cuda(namespace, pod, container string, args ...string) run {
	t.Helper()
	// It ends with an error when CUDA answers one.
	command := simcuda + " run " + strings.Join(args, " ") + " || true"
	out, err := t.Kubectl(context.Background(), "-n", namespace, "exec", pod, "-c", container, "--", "sh", "-c", command)
	t.OK(err)
	return t.parse(out)
}

func (t test) parse(said string) run {
	t.Helper()
	first, _, _ := strings.Cut(said, "\n")
	var r run
	if err := json.Unmarshal([]byte(first), &r); err != nil {
		t.Fatalf("simcuda says %q: %v", said, err)
	}
	if len(r.Devices) != 1 {
		t.Fatalf("simcuda sees %d devices: %s", len(r.Devices), first)
	}
	return r
}

// said is what the simcuda that a pod runs has said so far.
func (t test) said(namespace, pod string) string {
	t.Helper()
	out := ""
	t.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
		var err error
		out, err = t.Kubectl(ctx, "-n", namespace, "logs", pod)
		if err == nil && !strings.Contains(out, "\n") {
			return "pod " + pod + " says nothing", nil
		}
		return "", err
	})
	return out
}

// holding is a pod whose program has a context and 1 GiB and stays. It asks for one
// of an extended resource.
func holding(namespace, name, resource string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: %s
    imagePullPolicy: Never
    command: [%s, run, --memory, 1Gi, --hold]
    resources: {limits: {%s: 1}}
---
`, name, namespace, labtest.Image, simcuda, resource)
}

// onClaim is such a pod with a claim of its own for one device of a class.
func onClaim(namespace, name, class string) string {
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %[1]s, namespace: %[2]s}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: %[3]s}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: %[4]s
    imagePullPolicy: Never
    command: [%[5]s, run, --memory, 1Gi, --hold]
    resources: {claims: [{name: gpu}]}
  resourceClaims: [{name: gpu, resourceClaimName: %[1]s}]
---
`, name, namespace, class, labtest.Image, simcuda)
}

func namespaces(names ...string) string {
	out := ""
	for _, n := range names {
		out += "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + n + "}\n---\n"
	}
	return out
}

// started waits until a pod's program runs and returns what it said.
func (t test) started(namespace, pod string) run {
	t.Helper()
	_, err := t.PodRunning(context.Background(), namespace, pod)
	t.OK(err)
	return t.parse(t.said(namespace, pod))
}

// end deletes pods and waits until they are gone.
func (t test) end(namespace string, pods ...string) {
	t.Helper()
	_, err := t.Kubectl(context.Background(), append([]string{"-n", namespace, "delete", "--wait", "--ignore-not-found", "pod"}, pods...)...)
	t.OK(err)
}

// kill kills the processes of a program on the node, of those whose command line
// contains a word, and returns how many there were.
func (t test) kill(program, word string) int {
	t.Helper()
	out, err := t.Exec(context.Background(), node, "sh", "-c", fmt.Sprintf(
		`for p in /proc/[0-9]*; do case "$(readlink $p/exe)" in *%s) tr '\0' ' ' <$p/cmdline | grep -q -- '%s' && kill -9 ${p#/proc/} && echo killed;; esac; done; true`, program, word))
	t.OK(err)
	return strings.Count(out, "killed")
}

// pods are the pods of one of our DaemonSets, with how often they were restarted.
func (t test) pods(ctx context.Context, component string) (string, error) {
	list, err := t.Client().CoreV1().Pods(lab.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "dra-driver-nvidia-gpu-component=" + component})
	if err != nil {
		return "", err
	}
	out := ""
	for _, p := range list.Items {
		for _, c := range p.Status.ContainerStatuses {
			if c.Ready {
				out += fmt.Sprintf("%s restarted %d times; ", p.Name, c.RestartCount)
			}
		}
	}
	return out, nil
}

// renewed waits until another process serves in the pods of a DaemonSet.
func (t test) renewed(component, before string) {
	t.Helper()
	t.Eventually(90*time.Second, func(ctx context.Context) (string, error) {
		now, err := t.pods(ctx, component)
		if err == nil && (now == "" || now == before) {
			return component + ": " + now, nil
		}
		return "", err
	})
}
