// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// shares is a node with sharers, with one of everything that layout 3 added. The
// file of that layout was written from it: it changes no more.
func shares() content {
	const h100, t4 = "0000:65:00.0", "0000:ca:00.0"
	const quarter, turns = "gpu-0-quarter-9fb0", "gpu-1-burst-12fa"
	byMPS := sharing.Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: 4, MemoryMiB: 19752, ActiveThreads: 25, Memory: sharing.MemoryPerProcess}
	inTurns := sharing.Shared{Offer: "burst", Mode: v1alpha1.TimeSlicing, Shares: 8, MemoryMiB: 1860, Interval: nvidia.Short, Memory: sharing.MemoryPerContainer}
	threads := 25
	hold := func(r *sharing.Record, slot, share string) {
		r.Holds = append(r.Holds, sharing.Hold{Slot: slot, Claim: r.UID, Share: share, Namespace: r.Namespace, Name: r.Name})
		r.Grant.Devices = append(r.Grant.Devices, sharing.Granted{Request: "r", Pool: "n1", Device: slot, Share: share, CDI: []string{"k8s.gpu.nvidia.com/claim=" + r.UID + "-" + slot}})
	}

	sharer := record("sharer")
	hold(&sharer, quarter, "share-1")
	hold(&sharer, quarter, "share-2")
	at := sharing.Setting{Slot: quarter, Address: h100}
	sharer.Steps = []sharing.Step{
		sharing.SwitchMIG{Address: h100},
		sharing.NoteComputeMode{Setting: at}, sharing.SetComputeMode{Setting: at, Mode: sharing.ComputeExclusive},
		sharing.StartMPS{Slot: quarter, Daemon: quarter, Devices: []sharing.Served{{Address: h100, UUID: "GPU-1", MemoryMiB: 81559}},
			Limits: nvidia.MPS{ActiveThreads: &threads, Memory: &nvidia.Limit{MiB: 19752, Quantity: "19752Mi"}, MultiUser: true}},
		sharing.WriteSpec{Claim: "sharer", Devices: []sharing.SpecDevice{
			{Name: "sharer-" + quarter, Address: h100, UUID: "GPU-1", Slot: quarter, Shared: &byMPS, MemoryMiB: 81559, Daemon: quarter}}},
	}
	sharer.Facts = sharing.Facts{}
	sharer.Learn(sharing.WasComputeMode(h100, sharing.ComputeProhibited))

	taking := record("taking")
	hold(&taking, turns, "share-3")
	taking.State = sharing.Releasing
	at = sharing.Setting{Slot: turns, Address: t4}
	taking.Steps = []sharing.Step{
		sharing.NoteInterval{Setting: at, UUID: "GPU-2"}, sharing.SetInterval{Setting: at, UUID: "GPU-2", Interval: nvidia.Short},
		sharing.WriteSpec{Claim: "taking", Devices: []sharing.SpecDevice{
			{Name: "taking-" + turns, Address: t4, UUID: "GPU-2", Slot: turns, Shared: &inTurns, MemoryMiB: 15360}}},
	}
	taking.Facts = sharing.Facts{}
	taking.Learn(sharing.WasInterval(t4, nvidia.Medium))

	part := sharing.Place{Slot: "gpu-2-mig-1g10gb-19-6", Address: "0000:17:00.0", Partition: mig.Partition{Profile: 19, Placement: mig.Placement{Start: 6, Size: 1}}}
	alone := record("alone")
	hold(&alone, part.Slot, "")
	alone.State = sharing.Preparing
	alone.Steps = []sharing.Step{
		sharing.FindVacant{Place: part}, sharing.CreateGPUInstance{Place: part}, sharing.CreateComputeInstance{Place: part},
		sharing.StartMPS{Daemon: "alone", Devices: []sharing.Served{{Address: part.Address, UUID: "GPU-3", Slot: part.Slot, MemoryMiB: 9984}},
			Limits: nvidia.MPS{PerDevice: map[string]nvidia.Limit{"0": {MiB: 2048, Quantity: "2Gi"}}}},
		sharing.WriteSpec{Claim: "alone", Devices: []sharing.SpecDevice{
			{Name: "alone-" + part.Slot, Address: part.Address, UUID: "GPU-3", Slot: part.Slot, Made: &part.Partition, Daemon: "alone"}}},
	}
	alone.Facts = sharing.Facts{part.Slot: {GI: 13, UUID: "MIG-1"}}

	return content{
		records: []sharing.Record{alone, sharer, taking},
		fences:  map[string]sharing.Fence{t4: {Address: t4, Condition: sharing.Fenced, Why: "released while lost"}},
		known: map[string]sharing.Known{
			h100: {Boot: "b", GPU: sharing.GPU{Name: "gpu-0", Address: h100, UUID: "GPU-1", MemoryBytes: 81559 << 20, MemoryLimits: true}},
		},
		listed: map[string][]sharing.Listed{
			h100: {
				{Slot: sharing.Slot{Name: "gpu-0"}},
				{Slot: sharing.Slot{Name: quarter, Shared: &byMPS}, Retiring: 1796000000, Asked: 1796000120},
			},
			t4: {{Slot: sharing.Slot{Name: turns, Shared: &inTurns}}},
		},
	}
}
