// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package walkthrough

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cotenant-dev/cotenant/test/lab"
)

// GPUNode is the name of the node with the GPU.
const GPUNode = "192.168.2.8"

// plainNode has no GPU and no label.
const plainNode = "192.168.2.9"

// Nodes are the nodes that the walkthrough is played on.
func Nodes() []lab.Node {
	return []lab.Node{{
		Name: GPUNode, GPUs: []string{"A30-24"}, Driver: "535.129.03", CUDA: "12.2",
		Labels: map[string]string{"nvidia.com/gpu.present": "true", "vke.node.gpu.schedule": "nvidia-dra"},
	}, {Name: plainNode}}
}

// step is one row of the walkthrough: what the user does, and a check of what
// comes. It returns what there is to see.
type step struct {
	title string
	asked string
	play  func(context.Context, *lab.Lab) (string, error)
}

func steps() []step {
	return []step{
		{"node pool", "kubectl get nodes -L nvidia.com/gpu.present,vke.node.gpu.schedule", nodePool},
		{"install", lab.InstallCommand(), install},
		{"API", "kubectl api-resources | grep resource.k8s.io", apiResources},
		{"pods", "kubectl get pods -n " + lab.Namespace + " -o wide", pods},
		{"classes", "kubectl get deviceclass,resourceslice", classes},
		{"slice", "kubectl get resourceslice -o yaml", slice},
		{"no double count", "kubectl describe node " + GPUNode + " | grep nvidia.com/gpu", noDoubleCount},
		{"template", "kubectl apply -f single-gpu.yaml; kubectl get resourceclaimtemplate", template},
		{"workload", "kubectl apply -f gpu-test.yaml; kubectl get pods", workload},
		{"claim", "kubectl get resourceclaims; kubectl describe resourceclaims", claim},
		{"inside", "kubectl logs deployment/gpu-test --all-pods=true", inside},
		{"filters", "kubectl apply -f filters.yaml (CEL over memory, architecture, topology)", filters},
	}
}

// Play plays every step and writes what was asked and what came. It stops at the
// first step that does not give what it must, and returns how many did and how
// many there are.
func Play(ctx context.Context, l *lab.Lab, out io.Writer) (passed, total int, err error) {
	all := steps()
	for i, s := range all {
		fmt.Fprintf(out, "\n[%d/%d] %s\n$ %s\n", i+1, len(all), s.title, s.asked)
		begun := time.Now()
		shown, err := s.play(ctx, l)
		if shown = strings.TrimRight(shown, "\n"); shown != "" {
			fmt.Fprintln(out, indent(shown))
		}
		if err != nil {
			return i, len(all), fmt.Errorf("step %q: %w", s.title, err)
		}
		fmt.Fprintf(out, "ok, %.1f s\n", time.Since(begun).Seconds())
	}
	return len(all), len(all), nil
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }
