// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// A request with count: 2, as "serve: 2" of an extended resource is too, is allocated
// shares of two GPUs: two daemons for one container.
func TestTwoSharesOfOneRequest(t *testing.T) {
	quarter := sharing.Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: 4, ActiveThreads: 25}
	slots := map[string]sharing.Shared{"gpu-0-quarter-aaaa": quarter, "gpu-1-quarter-aaaa": quarter}
	result := func(device string) resourceapi.DeviceRequestAllocationResult {
		return resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: api.DriverName, Pool: "n1", Device: device}
	}
	rc := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "u"}, Status: resourceapi.ResourceClaimStatus{
		Allocation:  &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{result("gpu-0-quarter-aaaa"), result("gpu-1-quarter-aaaa")}}},
		ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "pu"}},
	}}
	name := "c"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pu"}, Spec: corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}},
		Containers:     []corev1.Container{{Name: "both", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus", Request: "r"}}}}},
	}}
	for what, client := range map[string]*fake.Clientset{"with its pod": fake.NewClientset(rc, pod), "before its pod is known": fake.NewClientset(rc)} {
		m := clients{client: client, pool: "n1", shared: func() map[string]sharing.Shared { return slots }}
		c, err := decode(rc, "n1")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.check(t.Context(), c); api.ReasonOf(err) != api.Invalid {
			t.Errorf("%s: a client of two daemons: %v", what, err)
		}
	}
}
