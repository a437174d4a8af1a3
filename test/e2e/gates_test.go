// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/lab/labtest"
)

// gatedNode is a node, and a policy that offers everything on it.
const gatedNode = `
apiVersion: v1
kind: Node
metadata: {name: gated}
---
apiVersion: cotenant.dev/v1alpha1
kind: SharingPolicy
metadata: {name: everything}
spec:
  nodeSelector: {}
  offers:
  - {name: whole, classNames: [gpu.nvidia.com], device: {type: GPU}}
  - {name: slice, classNames: [mig.nvidia.com], device: {type: MIG, mig: {source: OnDemand, profiles: ["*"]}}}
`

// An API server whose gate is off drops counters without a word, and overlapping
// partitions would look independent. The real plugin finds out before it publishes
// anything, publishes what does not overlap, and says why; with the gate on it
// publishes all.
func TestGateForPartitions(t *testing.T) {
	for gates, want := range map[string]struct {
		mode, reason string
		devices      int
	}{
		"DRAPartitionableDevices=false": {"Static", "DRAPartitionableDevices", 1},
		"":                              {"Full", "", 26},
	} {
		t.Run("gates "+gates, func(t *testing.T) {
			ctx := context.Background()
			l, err := lab.New("e2e-gates", io.Discard)
			ok(t, err)
			ok(t, l.ControlPlane(ctx, gates))
			t.Cleanup(func() { ok(t, l.Down(ctx)) })
			lt := labtest.T{T: t, Lab: l}
			_, err = l.Kubectl(ctx, "apply", "--server-side", "-f", l.Path("deploy/helm/cotenant/crds"))
			ok(t, err)
			_, err = l.Kubectl(ctx, "wait", "--for=condition=Established", "crd", "sharingpolicies.cotenant.dev", "gpunodes.cotenant.dev")
			ok(t, err)
			ok(t, l.Apply(ctx, gatedNode))
			h := newHostOf(t, "gated", l, "H100-80")
			h.serves(t, h.start(t, ""))
			var published []resourceapi.Device
			lt.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
				list, err := l.Client().ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{})
				published = nil
				for _, s := range list.Items {
					published = append(published, s.Spec.Devices...)
				}
				if len(published) != want.devices {
					return fmt.Sprintf("%d devices are published, want %d", len(published), want.devices), err
				}
				return "", err
			})
			for _, d := range published {
				if counted := len(d.ConsumesCounters) > 0; counted != (want.devices > 1) {
					t.Errorf("%s consumes counters: %v", d.Name, counted)
				}
			}
			lt.Eventually(30*time.Second, func(ctx context.Context) (string, error) {
				out, err := l.Kubectl(ctx, "get", "gpunode", "gated", "-o", "jsonpath={.status.publication.mode} {.status.publication.reason}")
				if !strings.HasPrefix(out, want.mode+" ") || !strings.Contains(out, want.reason) {
					return "the node says " + out, err
				}
				return "", err
			})
		})
	}
}
