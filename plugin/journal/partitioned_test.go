// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// partitioned is a node with MIG, with one of everything that layout 2 added.
// The file of that layout was written from it: it changes no more.
func partitioned() content {
	const h100, a100 = "0000:65:00.0", "0000:ca:00.0"
	slice := mig.Profile{Index: 0, ID: 19, Name: "1g.10gb", Slices: 1, Max: 7, MemoryMiB: 9984,
		Engines: mig.Engines{Multiprocessors: 16, CopyEngines: 1, Decoders: 1, Encoders: 2, JPEGEngines: 3, OFAEngines: 4}}
	half := mig.Profile{Index: 2, ID: 9, Name: "3g.40gb", Slices: 3, Max: 2, MemoryMiB: 40448, Engines: mig.Engines{Multiprocessors: 60}}
	placed := func(p mig.Profile, starts ...int) mig.Profile {
		for _, s := range starts {
			p.Placements = append(p.Placements, mig.Placement{Start: s, Size: p.Slices})
		}
		return p
	}
	at := func(slot, address string, profile, start, size int) sharing.Place {
		return sharing.Place{Slot: slot, Address: address, Partition: mig.Partition{Profile: profile, Placement: mig.Placement{Start: start, Size: size}}}
	}
	made, found := at("gpu-0-mig-1g10gb-19-6", h100, 19, 6, 1), at("gpu-1-mig-3g40gb-9-4", a100, 9, 4, 4)
	hold := func(r *sharing.Record, p sharing.Place, h sharing.Hold) {
		h.Slot, h.Claim, h.Namespace, h.Name = p.Slot, r.UID, r.Namespace, r.Name
		r.Holds = append(r.Holds, h)
	}

	prepared := record("made")
	hold(&prepared, made, sharing.Hold{})
	hold(&prepared, found, sharing.Hold{Found: true})
	prepared.Steps = []sharing.Step{
		sharing.SwitchMIG{Address: h100, On: true}, sharing.FindVacant{Place: made}, sharing.CreateGPUInstance{Place: made}, sharing.CreateComputeInstance{Place: made},
		sharing.FindInstance{Place: found},
		sharing.WriteSpec{Claim: "made", Devices: []sharing.SpecDevice{
			{Name: "made-" + made.Slot, Address: h100, UUID: "GPU-1", Slot: made.Slot, Made: &made.Partition},
			{Name: "made-" + found.Slot, Address: a100, UUID: "GPU-2", Slot: found.Slot},
		}},
	}
	prepared.Facts = sharing.Facts{made.Slot: {GI: 13, CI: 0, UUID: "MIG-1"}, found.Slot: {GI: 1, CI: 2, UUID: "MIG-2"}}
	prepared.Grant.Devices = append(prepared.Grant.Devices, sharing.Granted{Request: "r/small", Pool: "n1", Device: made.Slot, CDI: []string{"k8s.gpu.nvidia.com/claim=made-" + made.Slot}})

	watching := record("watching")
	hold(&watching, found, sharing.Hold{Admin: true})
	watching.State = sharing.Preparing
	watching.Steps = []sharing.Step{sharing.FindInstance{Place: found, Optional: true}}

	whole := record("whole", "gpu-2")
	whole.Steps = append([]sharing.Step{sharing.SwitchMIG{Address: "0000:17:00.0"}}, whole.Steps...)

	owed := record("owed")
	hold(&owed, at("gpu-0-mig-1g10gb-19-5", h100, 19, 5, 1), sharing.Hold{})
	owed.State, owed.Facts = sharing.Releasing, sharing.Facts{"gpu-0-mig-1g10gb-19-5": {GI: 12}}
	owed.Steps = []sharing.Step{sharing.CreateGPUInstance{Place: at("gpu-0-mig-1g10gb-19-5", h100, 19, 5, 1)}}

	return content{
		records: []sharing.Record{prepared, owed, watching, whole},
		fences: map[string]sharing.Fence{
			h100: {Address: h100, Condition: sharing.Stuck, Why: "its MIG mode could not be switched off"},
			a100: {Address: a100, Condition: sharing.Held, Why: "its records were lost"},
		},
		known: map[string]sharing.Known{
			h100: {Boot: "b", GPU: sharing.GPU{Name: "gpu-0", Address: h100, UUID: "GPU-1", Minor: 3, Product: "H100", Brand: "Nvidia", Architecture: "Hopper",
				ComputeCapability: "9.0.0", DriverVersion: "535.129.3", CUDAVersion: "12.2.0", MemoryBytes: 81559 << 20, PCIeRoot: "pci0000:64", NUMANode: new(1), AddressingMode: "HMM",
				MIG: &sharing.MIG{Switchable: true, Geometry: mig.Geometry{placed(slice, 0, 1, 2, 3, 4, 5, 6), placed(half, 0, 4)}}}},
			a100: {Boot: "a", GPU: sharing.GPU{Name: "gpu-1", Address: a100, UUID: "GPU-2", MIG: &sharing.MIG{Geometry: mig.Geometry{placed(half, 0, 4)}}}},
		},
		listed: map[string][]sharing.Listed{
			h100: {
				{Slot: sharing.Slot{Name: made.Slot, Part: &sharing.Part{Profile: slice, Placement: made.Placement}}},
				{Slot: sharing.Slot{Name: "gpu-0"}},
				{Slot: sharing.Slot{Name: "gpu-0-mig-1g10gb-19-5", Part: &sharing.Part{Profile: slice, Placement: mig.Placement{Start: 5, Size: 1}}}, Retiring: 1796000000, Asked: 1796000120},
			},
			a100: {{Slot: sharing.Slot{Name: found.Slot, Part: &sharing.Part{Profile: half, Placement: found.Placement, UUID: "MIG-2"}}}},
		},
	}
}
