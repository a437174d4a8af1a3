// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package mig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/lab/labtest"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// test is a test on the cluster, with the manual's policy in force.
type test struct{ labtest.T }

func begin(t *testing.T) test {
	t.Helper()
	lt := test{labtest.T{T: t, Lab: cluster}}
	lt.Use(lt.Example("policy-partitions"))
	lt.publishes(hopper, "gpu-0-mig-1g10gb-19-6", "gpu-1")
	return lt
}

// publishes waits until a node publishes devices, untainted.
func (t test) publishes(node string, names ...string) {
	t.Helper()
	t.Eventually(time.Minute, func(ctx context.Context) (string, error) {
		have, err := t.Devices(ctx, node)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if d, there := have[name]; !there || len(d.Taints) > 0 {
				return fmt.Sprintf("%s does not publish %s, or tainted; it publishes %d devices", node, name, len(have)), nil
			}
		}
		return "", nil
	})
}

// instances are the GPU instances of a GPU as "profile@start", in that order.
func (t test) instances(node string, gpu int) []string {
	t.Helper()
	s, err := t.Machine(node).State()
	t.OK(err)
	var out []string
	for _, gi := range s.GPUs[gpu].GIs {
		out = append(out, fmt.Sprintf("%d@%d", gi.ProfileID, gi.Start))
	}
	slices.Sort(out)
	return out
}

// whole waits until a GPU has no instance and MIG mode is off.
func (t test) whole(node string, gpu int) {
	t.Helper()
	t.Eventually(15*time.Second, func(context.Context) (string, error) {
		s, err := t.Machine(node).State()
		if err != nil {
			return "", err
		}
		if g := s.GPUs[gpu]; len(g.GIs) > 0 || g.MIG.Current {
			return fmt.Sprintf("GPU %d of %s still has %d instances, MIG mode on: %v", gpu, node, len(g.GIs), g.MIG.Current), nil
		}
		return "", nil
	})
}

// pod is a pod with one container that asks for one device of a class, by a
// profile if there is one.
func pod(name, node, class, profile string) string {
	selectors := ""
	if profile != "" {
		selectors = fmt.Sprintf(`selectors: [{cel: {expression: "device.attributes['gpu.nvidia.com'].?profile.orValue('') == '%s'"}}]`, profile)
	}
	return fmt.Sprintf(`
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %[1]s, namespace: default}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: %[3]s
        %[4]s
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: default}
spec:
  nodeSelector: {kubernetes.io/hostname: %[2]s}
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: %[5]s
    imagePullPolicy: Never
    command: [sh, -c, "nvidia-smi -L; sleep 3600"]
    resources: {claims: [{name: gpu}]}
  resourceClaims: [{name: gpu, resourceClaimName: %[1]s}]
---
`, name, node, class, selectors, labtest.Image)
}

// nodesOf are the GPU device nodes of a container, from the OCI spec that runc
// was given, without the control nodes that every GPU container has.
func (t test) nodesOf(node, podName, container string) []string {
	t.Helper()
	var spec struct {
		Linux struct {
			Devices []struct{ Path string }
		}
	}
	t.OCISpec(node, podName, container, &spec)
	control := []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}
	var paths []string
	for _, d := range spec.Linux.Devices {
		if strings.HasPrefix(d.Path, "/dev/nvidia") && !slices.Contains(control, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

// granted are the nodes of one instance: its GPU's and its two capabilities'.
func (t test) granted(node string, gpu int, instance string) []string {
	t.Helper()
	s, err := t.Machine(node).State()
	t.OK(err)
	g := s.GPUs[gpu]
	for _, gi := range g.GIs {
		if fmt.Sprintf("%d@%d", gi.ProfileID, gi.Start) == instance {
			paths := []string{
				fmt.Sprintf("/dev/nvidia%d", g.Minor),
				fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", sim.CapabilityGI(g.Minor, gi.ID)),
				fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", sim.CapabilityCI(g.Minor, gi.ID, gi.CIs[0].ID)),
			}
			slices.Sort(paths)
			return paths
		}
	}
	t.Fatalf("GPU %d of %s has no instance %s", gpu, node, instance)
	return nil
}

// Seven of the smallest fill one GPU and the eighth goes to the other; a whole GPU
// is waited for until one has no partition; and a partition is gone, and the mode
// off, seconds after the last pod.
func TestSevenFillOneGPU(t *testing.T) {
	lt := begin(t)
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("p%d", i))
		lt.Use(pod(names[i], hopper, "mig.nvidia.com", "1g.10gb"))
	}
	for _, name := range names {
		p := lt.Running(name)
		if seen := lt.Sees(name, ""); strings.Count(seen, "MIG 1g.10gb") != 1 || strings.Count(seen, "GPU ") != 1 {
			t.Errorf("pod %s sees:\n%s", p.Name, seen)
		}
	}
	lt.Same("the first GPU", fmt.Sprint(lt.instances(hopper, 0)), "[19@0 19@1 19@2 19@3 19@4 19@5 19@6]")
	lt.Same("the second GPU", fmt.Sprint(lt.instances(hopper, 1)), "[]")
	lt.Use(pod("eighth", hopper, "mig.nvidia.com", "1g.10gb"))
	lt.Running("eighth")
	lt.Same("the second GPU", fmt.Sprint(lt.instances(hopper, 1)), "[19@6]")
	lt.Use(pod("whole", hopper, "gpu.nvidia.com", ""))
	lt.Unschedulable("whole")
	lt.DeletePod("eighth")
	if p := lt.Running("whole"); p.Spec.NodeName != hopper {
		t.Errorf("the whole GPU is on %s", p.Spec.NodeName)
	}
	if seen := lt.Sees("whole", ""); strings.Contains(seen, "MIG") || strings.Count(seen, "GPU ") != 1 {
		t.Errorf("the pod with the whole GPU sees:\n%s", seen)
	}
	lt.DeletePod(append(names, "whole")...)
	lt.whole(hopper, 0)
	lt.whole(hopper, 1)
}

// Examples of the manual, one after the other.
func TestExamples(t *testing.T) {
	lt := begin(t)
	for _, c := range []struct {
		example string
		// sees is, by "pod/container", what must be in its list and how often.
		sees map[string]string
	}{
		{"one-gpu", map[string]string{"one-gpu/main": "GPU 0: "}},
		{"two-gpus", map[string]string{"two-gpus/first": "GPU 0: ", "two-gpus/second": "GPU 0: "}},
		{"shared-claim", map[string]string{"shared-1/main": "MIG 2g.20gb ", "shared-2/main": "MIG 2g.20gb "}},
		{"partitions-of-one-gpu", map[string]string{"partitions-of-one-gpu/large": "MIG 3g.40gb ", "partitions-of-one-gpu/small": "MIG 1g.10gb "}},
		{"cel-selection", map[string]string{"cel-selection/main": "MIG 3g.40gb "}},
		{"mig-by-extended-resource", map[string]string{"mig-by-extended-resource/main": "MIG 1g.10gb "}},
	} {
		t.Run(c.example, func(t *testing.T) {
			in := test{labtest.T{T: t, Lab: cluster}}
			in.Use(in.Example(c.example))
			for who, what := range c.sees {
				name, container, _ := strings.Cut(who, "/")
				in.Running(name)
				seen := in.Sees(name, container)
				if strings.Count(seen, what) != 1 || strings.Count(seen, "GPU ") != 1 || strings.Count(seen, "MIG ") != strings.Count(what, "MIG ") {
					t.Errorf("%s sees:\n%s\nwant one %q and nothing else", who, seen, what)
				}
			}
		})
	}
	lt.whole(hopper, 0)
	lt.whole(hopper, 1)
}

// Two containers of one pod with a partition each of one parent: the OCI spec of
// each holds exactly its parent's node and its two capability nodes.
func TestTwoPartitionsOfOneParent(t *testing.T) {
	lt := begin(t)
	lt.Use(lt.Example("partitions-of-one-gpu"))
	const name = "partitions-of-one-gpu"
	p := lt.Running(name)
	node := p.Spec.NodeName
	gpu := slices.IndexFunc([]int{0, 1}, func(i int) bool { return len(lt.instances(node, i)) == 2 })
	if gpu < 0 {
		t.Fatalf("no GPU of %s has both partitions", node)
	}
	lt.Same("the instances", fmt.Sprint(lt.instances(node, gpu)), "[19@3 9@4]")
	lt.Same("nodes of the large one", fmt.Sprint(lt.nodesOf(node, name, "large")), fmt.Sprint(lt.granted(node, gpu, "9@4")))
	lt.Same("nodes of the small one", fmt.Sprint(lt.nodesOf(node, name, "small")), fmt.Sprint(lt.granted(node, gpu, "19@3")))
	lt.DeletePod(name)
	lt.whole(node, gpu)
}
