// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// configured is a configuration for our driver, from the claim.
func configured(parameters string, requests ...string) resourceapi.DeviceAllocationConfiguration {
	return resourceapi.DeviceAllocationConfiguration{
		Source: resourceapi.AllocationConfigSourceClaim, Requests: requests,
		DeviceConfiguration: resourceapi.DeviceConfiguration{Opaque: &resourceapi.OpaqueDeviceConfiguration{
			Driver: "gpu.nvidia.com", Parameters: runtime.RawExtension{Raw: []byte(parameters)}}},
	}
}

const (
	long   = `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Long"}}}`
	mps    = `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"MigDeviceConfig","sharing":{"strategy":"MPS"}}`
	empty  = `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"}`
	typing = `{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharin":{}}`
	older  = `{"apiVersion":"gpu.nvidia.com/v1alpha1","kind":"GpuConfig"}`
)

// A configuration without requests reaches devices of its own type only; one that
// names a request of the wrong type is the user's error (dra-driver-nvidia-gpu
// #156). Which device a setting is for is decided as upstream does; this release
// applies none of them, and says so rather than leave one out.
func TestF04OneConfigForAGPUAndAPartition(t *testing.T) {
	const part = "gpu-1-mig-1g10gb-19-6"
	both := []resourceapi.DeviceRequestAllocationResult{
		{Request: "g", Driver: "gpu.nvidia.com", Pool: nodeName, Device: "gpu-0"},
		{Request: "m/small", Driver: "gpu.nvidia.com", Pool: nodeName, Device: part},
	}
	for name, c := range map[string]struct {
		results []resourceapi.DeviceRequestAllocationResult
		config  []resourceapi.DeviceAllocationConfiguration
		refused []string
	}{
		"no request named":                 {both, []resourceapi.DeviceAllocationConfiguration{configured(long)}, []string{"GpuConfig", "for gpu-0", "does not apply yet"}},
		"no request named, partition only": {both[1:], []resourceapi.DeviceAllocationConfiguration{configured(long)}, nil},
		"the wrong type":                   {both, []resourceapi.DeviceAllocationConfiguration{configured(long, "m")}, []string{part, "of type mig", "request m/small"}},
		"the wrong type, by alternative":   {both, []resourceapi.DeviceAllocationConfiguration{configured(long, "m/small")}, []string{part, "of type mig"}},
		"another alternative":              {both, []resourceapi.DeviceAllocationConfiguration{configured(long, "m/large")}, nil},
		"a later one of another kind":      {both[1:], []resourceapi.DeviceAllocationConfiguration{configured(long), configured(mps)}, []string{"MigDeviceConfig", "for " + part, "does not apply yet"}},
		"without settings":                 {both, []resourceapi.DeviceAllocationConfiguration{configured(empty)}, nil},
		"a misspelt key":                   {both, []resourceapi.DeviceAllocationConfiguration{configured(typing)}, []string{"sharin"}},
		"an older version":                 {both, []resourceapi.DeviceAllocationConfiguration{configured(older)}, []string{"gpu.nvidia.com/v1alpha1", "resource.nvidia.com/v1beta1"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newMIGNode(t, "H100-80", "H100-80")
			before := n.machine.Calls("*")
			claim := n.allocate("c", c.results, c.config)
			got, err := n.P(claim)
			if c.refused != nil {
				refused(t, err, c.refused...)
				same(t, "changes to the hardware", n.machine.Calls("*")-before, 0)
				same(t, "records", n.records(), map[string]string{})
				return
			}
			ok(t, err)
			same(t, "devices", len(got), len(c.results))
			ok(t, n.U(claim))
		})
	}
}
