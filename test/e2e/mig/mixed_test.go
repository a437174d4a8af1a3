// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package mig

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// mixedPolicy offers everything on the mixed node.
const mixedPolicy = `
apiVersion: cotenant.dev/v1alpha1
kind: SharingPolicy
metadata: {name: mixed}
spec:
  priority: 20
  nodeSelector: {matchLabels: {gpu-pool: mixed}}
  offers:
  - {name: whole, classNames: [gpu.nvidia.com], device: {type: GPU}}
  - {name: slice, classNames: [mig.nvidia.com], device: {type: MIG, mig: {source: OnDemand, profiles: ["*"]}}}
  - {name: there, classNames: [mig.nvidia.com], device: {type: MIG, mig: {source: Existing}}}
`

// report is what a node says of itself.
func (t test) report(ctx context.Context, node string) (v1alpha1.GPUNodeStatus, error) {
	out, err := t.Kubectl(ctx, "get", "gpunode", node, "-o", "json")
	if err != nil {
		return v1alpha1.GPUNodeStatus{}, err
	}
	var n v1alpha1.GPUNode
	err = json.Unmarshal([]byte(out), &n)
	return n.Status, err
}

// A node with one of each kind: what each GPU's present mode allows is published,
// and works; what needs a reset is said.
func TestMixedNode(t *testing.T) {
	lt := begin(t)
	lt.Use(mixedPolicy)
	lt.publishes(mixed, "gpu-0-mig-7g40gb-0-0", "gpu-1", "gpu-2", "gpu-2-mig-7g80gb-0-0", "gpu-3")
	have, err := lt.Devices(context.Background(), mixed)
	lt.OK(err)
	for name := range have {
		if name == "gpu-0" || strings.HasPrefix(name, "gpu-1-mig") || strings.HasPrefix(name, "gpu-3-mig") {
			t.Errorf("%s is published", name)
		}
	}
	lt.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
		s, err := lt.report(ctx, mixed)
		if err != nil {
			return "", err
		}
		if len(s.GPUs) != 4 || len(s.GPUs[a100Off].Withheld) == 0 || len(s.GPUs[a100On].Withheld) == 0 {
			return fmt.Sprintf("the report is %+v", s), nil
		}
		off, on := s.GPUs[a100Off].Withheld[0], s.GPUs[a100On].Withheld[0]
		if off.Offer != "slice" || !strings.Contains(off.Reason, "MIG mode of gpu-1 is off") || on.Offer != "whole" || !strings.Contains(on.Reason, "MIG mode is on") {
			return fmt.Sprintf("withheld are %+v and %+v", off, on), nil
		}
		return "", nil
	})
	lt.Use(pod("a100-slice", mixed, "mig.nvidia.com", "3g.20gb") + pod("h100-slice", mixed, "mig.nvidia.com", "3g.40gb"))
	lt.Running("a100-slice")
	lt.Running("h100-slice")
	lt.Same("instances of the A100", fmt.Sprint(lt.instances(mixed, a100On)), "[9@4]")
	lt.Same("instances of the H100", fmt.Sprint(lt.instances(mixed, h100)), "[9@4]")
	lt.Same("nodes", fmt.Sprint(lt.nodesOf(mixed, "a100-slice", "main")), fmt.Sprint(lt.granted(mixed, a100On, "9@4")))
	// Two whole GPUs are left: the A100 with its mode off, and the T4.
	lt.Use(pod("whole-1", mixed, "gpu.nvidia.com", "") + pod("whole-2", mixed, "gpu.nvidia.com", "") + pod("whole-3", mixed, "gpu.nvidia.com", ""))
	waiting := ""
	lt.Eventually(time.Minute, func(ctx context.Context) (string, error) {
		out, err := lt.Kubectl(ctx, "get", "pods", "whole-1", "whole-2", "whole-3", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}")
		waiting = ""
		for _, p := range strings.Fields(out) {
			if name, phase, _ := strings.Cut(p, "="); phase != "Running" {
				waiting += name
			}
		}
		if strings.Count(out, "=Running") != 2 {
			return out, err
		}
		return "", err
	})
	lt.Unschedulable(waiting)
	lt.DeletePod("h100-slice")
	lt.Running(waiting)
	lt.DeletePod("a100-slice", "whole-1", "whole-2", "whole-3")
	lt.whole(mixed, h100)
	s, err := lt.Machine(mixed).State()
	lt.OK(err)
	lt.Same("modes that a reset changes", fmt.Sprint(s.GPUs[a100On].MIG, s.GPUs[a100Off].MIG), fmt.Sprint(sim.MIGMode{Current: true, Pending: true}, sim.MIGMode{}))
	lt.Same("instances of the A100", fmt.Sprint(lt.instances(mixed, a100On)), "[]")
}

// An instance that somebody made by hand is a device, is never destroyed, and
// keeps off what overlaps it.
func TestForeignInstance(t *testing.T) {
	lt := begin(t)
	lt.Use(mixedPolicy)
	lt.publishes(mixed, "gpu-0-mig-7g40gb-0-0", "gpu-2-mig-7g80gb-0-0")
	for _, gpu := range []int{a100On, h100} {
		lt.OK(lt.Machine(mixed).SetMIG(gpu, true))
		lt.OK(lt.Machine(mixed).CreateInstance(gpu, 14, 0, true))
		defer func() {
			lt.OK(lt.Machine(mixed).DestroyInstances(gpu))
			lt.OK(lt.Machine(mixed).SetMIG(gpu, gpu == a100On))
		}()
	}
	lt.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
		s, err := lt.report(ctx, mixed)
		if err != nil || len(s.GPUs) != 4 || len(s.GPUs[a100On].Instances) != 1 || len(s.GPUs[h100].Instances) != 1 {
			return fmt.Sprintf("the report is %+v", s), err
		}
		return "", nil
	})
	lt.Use(pod("four", mixed, "mig.nvidia.com", "4g.40gb"))
	lt.Unschedulable("four")
	lt.Use(pod("three", mixed, "mig.nvidia.com", "3g.40gb"))
	lt.Running("three")
	lt.Same("instances of the H100", fmt.Sprint(lt.instances(mixed, h100)), "[14@0 9@4]")
	lt.DeletePod("three")
	lt.Eventually(15*time.Second, func(context.Context) (string, error) {
		if got := fmt.Sprint(lt.instances(mixed, h100)); got != "[14@0]" {
			return "the H100 has " + got, nil
		}
		return "", nil
	})
	out, err := lt.Kubectl(context.Background(), "get", "events", "-n", "default", "--field-selector", "reason=ForeignInstance", "-o", "name")
	lt.OK(err)
	lt.Same("warning events", strings.Count(out, "event/"), 2)
}

// The status of policies sums up what the nodes say.
func TestPolicyFigures(t *testing.T) {
	lt := begin(t)
	lt.Use(mixedPolicy)
	want := map[string]string{"partitions": "1/", "mixed": "1/", "default": "2/2"}
	for name, figures := range want {
		lt.Eventually(90*time.Second, func(ctx context.Context) (string, error) {
			out, err := lt.Kubectl(ctx, "get", "sharingpolicy", name, "-o", "jsonpath={.status.nodesMatched}/{.status.nodesLost}")
			if out != figures {
				return fmt.Sprintf("policy %s: %q, want %q", name, out, figures), err
			}
			return "", err
		})
	}
}
