// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A claim combines a GPU with another driver's device of the same name and that
// driver's configuration (kubernetes/kubernetes#137945, #139772).
func TestF05OtherDriversInOneClaim(t *testing.T) {
	n := newNode(t, []string{"A30-24"})
	n.start()
	c := n.allocate("mixed", []resourceapi.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: "gpu.nvidia.com", Pool: nodeName, Device: "gpu-0"},
		{Request: "nic", Driver: "nic.example.com", Pool: nodeName, Device: "gpu-0"},
	}, []resourceapi.DeviceAllocationConfiguration{{
		Source: resourceapi.AllocationConfigSourceClaim,
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: "nic.example.com", Parameters: runtime.RawExtension{Raw: []byte(`{"kind": 7}`)}}},
	}})
	got, err := n.P(c)
	ok(t, err)
	if len(got) != 1 || got[0].RequestNames[0] != "gpu" {
		t.Fatalf("prepared %v, want the one device of request gpu", got)
	}
	holds, err := n.store.Holds("gpu-0")
	ok(t, err)
	if len(holds) != 1 {
		t.Fatalf("holds %v, want one", holds)
	}
	ok(t, n.U(c))
	d := n.claim("next", "gpu-0")
	_, err = n.P(d)
	ok(t, err)
	ok(t, n.U(d))
}
