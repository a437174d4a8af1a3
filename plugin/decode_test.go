// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// claimSeeds are statuses of claims, good and bad. What fuzzing finds is added.
var claimSeeds = []string{
	`{}`,
	`{"allocation":null}`,
	`{"allocation":{"devices":{"results":[{"request":"r","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0"}]}}}`,
	`{"allocation":{"devices":{"results":[{"request":"r/s","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0-quarter-9fb0","shareID":"x"},{"request":"t","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0-quarter-9fb0","shareID":"y"}]}},"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}`,
	`{"allocation":{"devices":{"results":[{"request":"m","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0-mig-1g10gb-19-6"},{"request":"n","driver":"nic.example.com","pool":"n1","device":"gpu-0"}],
	 "config":[{"source":"FromClaim","requests":["m"],"opaque":{"driver":"gpu.nvidia.com","parameters":{"apiVersion":"resource.nvidia.com/v1beta1","kind":"MigDeviceConfig","sharing":{"strategy":"MPS","mpsConfig":{"defaultPerDevicePinnedMemoryLimit":{"0":"1Gi"}}}}}}]}}}`,
	`{"allocation":{"devices":{"results":[{"request":"g","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0","adminAccess":true},{"request":"h","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-1"}],
	 "config":[{"source":"FromClass","requests":[],"opaque":{"driver":"gpu.nvidia.com","parameters":{"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{}}}}},{"source":"FromClaim"}]}}}`,
	`{"allocation":{"devices":{"results":[{"request":"","driver":"gpu.nvidia.com","pool":"n2","device":"gpu-0-mig-x-99999999999999999999-1"}],"config":[{"source":"Somewhere","requests":["a"]}]}}}`,
}

// Whatever is in a claim's status, it is decoded or refused with a reason, and so is
// what it asks for; nobody panics, and what is granted was asked for.
func FuzzClaimStatus(f *testing.F) {
	for _, s := range claimSeeds {
		f.Add([]byte(s))
	}
	quarter := sharing.Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: 4, MemoryMiB: 19752, ActiveThreads: 25, Memory: sharing.MemoryPerProcess}
	slice := mig.Profile{ID: 19, Name: "1g.10gb", Slices: 1, Max: 7, MemoryMiB: 9984, Placements: []mig.Placement{{Start: 0, Size: 1}, {Start: 6, Size: 1}}}
	devices := map[string]sharing.Device{}
	for _, name := range []string{"gpu-0", "gpu-1"} {
		devices[name] = sharing.Device{Condition: sharing.Ready, GPU: sharing.GPU{
			Name: name, Address: "0000:0" + name[4:] + ":00.0", UUID: "GPU-" + name, MemoryBytes: 81559 << 20, ComputeCapability: "9.0.0",
			MIG: &sharing.MIG{Switchable: true, Geometry: mig.Geometry{slice}}}}
	}
	node := sharing.Node{Pool: "n1", Devices: devices, Slots: map[string]sharing.Shared{"gpu-0-quarter-9fb0": quarter}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var rc resourceapi.ResourceClaim
		rc.UID, rc.Namespace, rc.Name = "u", "ns", "c"
		if json.Unmarshal(raw, &rc.Status) != nil {
			return // no status that an API server would store
		}
		c, err := decode(&rc, "n1")
		if err == nil {
			_ = clients{shared: func() map[string]sharing.Shared { return node.Slots }}.hadBy(c)
			var rec sharing.Record
			if rec, err = sharing.Acquire(node, c); err == nil && len(rec.Grant.Devices) != len(c.Asks) {
				t.Errorf("%d devices for %d asks", len(rec.Grant.Devices), len(c.Asks))
			}
		}
		if err != nil && api.ReasonOf(err) == "" {
			t.Errorf("a refusal without a reason: %v", err)
		}
		if err != nil && api.ReasonOf(err) == api.Internal {
			t.Errorf("a tenant's input is an internal error: %v", err)
		}
	})
}
