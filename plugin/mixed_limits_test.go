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

// The driver's hook takes the limit from the environment of the container, which has
// one value for all of its GPUs: the last CDI device's. A container with shares of
// two sizes would have the larger one on both GPUs.
func TestSharesOfTwoSizesInAContainer(t *testing.T) {
	limited := func(offer string, shares int, mib int64) sharing.Shared {
		return sharing.Shared{Offer: offer, Mode: v1alpha1.TimeSlicing, Shares: shares, MemoryMiB: mib, Memory: sharing.MemoryPerContainer}
	}
	slots := map[string]sharing.Shared{"gpu-0-eighth-aaaa": limited("eighth", 8, 9876), "gpu-1-half-bbbb": limited("half", 2, 39505)}
	result := func(request, device string) resourceapi.DeviceRequestAllocationResult {
		return resourceapi.DeviceRequestAllocationResult{Request: request, Driver: api.DriverName, Pool: "n1", Device: device}
	}
	rc := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "u"}, Status: resourceapi.ResourceClaimStatus{
		Allocation:  &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{result("small", "gpu-0-eighth-aaaa"), result("large", "gpu-1-half-bbbb")}}},
		ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "pu"}},
	}}
	name := "c"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pu"}, Spec: corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpus", ResourceClaimName: &name}},
		Containers:     []corev1.Container{{Name: "both", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus"}}}}},
	}}
	m := clients{client: fake.NewClientset(rc, pod), pool: "n1", shared: func() map[string]sharing.Shared { return slots }}
	c, err := decode(rc, "n1")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.check(t.Context(), c); api.ReasonOf(err) != api.Invalid {
		t.Errorf("one container with limits of 9876 and 39505 MiB: %v", err)
	}
}
