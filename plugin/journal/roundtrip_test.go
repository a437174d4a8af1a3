// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

var (
	word      = rapid.SampledFrom([]string{"", "a", "gpu-0", "gpu-0-mig-1g10gb-19-6", "MIG-GPU-1/7/0", "Ü \"x\"\n"})
	number    = rapid.IntRange(0, 200)
	partition = rapid.Custom(func(t *rapid.T) mig.Partition {
		return mig.Partition{Profile: number.Draw(t, "profile"), Placement: mig.Placement{Start: number.Draw(t, "start"), Size: number.Draw(t, "size")}}
	})
	place = rapid.Custom(func(t *rapid.T) sharing.Place {
		return sharing.Place{Slot: word.Draw(t, "slot"), Address: word.Draw(t, "address"), Partition: partition.Draw(t, "partition")}
	})
	step = rapid.Custom(func(t *rapid.T) sharing.Step {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return sharing.SwitchMIG{Address: word.Draw(t, "address"), On: rapid.Bool().Draw(t, "on")}
		case 1:
			return sharing.CreateGPUInstance{Place: place.Draw(t, "place")}
		case 2:
			return sharing.CreateComputeInstance{Place: place.Draw(t, "place")}
		case 3:
			return sharing.FindInstance{Place: place.Draw(t, "place"), Optional: rapid.Bool().Draw(t, "optional")}
		case 4:
			return sharing.FindVacant{Place: place.Draw(t, "place")}
		}
		return sharing.WriteSpec{Claim: "c", Devices: rapid.SliceOfN(device, 0, 3).Draw(t, "devices")}
	})
	device = rapid.Custom(func(t *rapid.T) sharing.SpecDevice {
		return sharing.SpecDevice{Name: word.Draw(t, "name"), Address: word.Draw(t, "address"), UUID: word.Draw(t, "uuid"),
			Slot: word.Draw(t, "slot"), Made: rapid.Ptr(partition, true).Draw(t, "made")}
	})
	profile = rapid.Custom(func(t *rapid.T) mig.Profile {
		return mig.Profile{
			Index: number.Draw(t, "index"), ID: number.Draw(t, "id"), Name: word.Draw(t, "name"), Slices: number.Draw(t, "slices"),
			Max: number.Draw(t, "max"), MemoryMiB: rapid.Int64Min(0).Draw(t, "memory"),
			Engines: mig.Engines{
				Multiprocessors: number.Draw(t, "SMs"), CopyEngines: number.Draw(t, "copy"), Decoders: number.Draw(t, "dec"),
				Encoders: number.Draw(t, "enc"), JPEGEngines: number.Draw(t, "jpeg"), OFAEngines: number.Draw(t, "ofa"),
			},
		}
	})
)

// Every step comes back from its record as it was, whatever is in it.
func TestStepsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := step.Draw(t, "step")
		stored, err := encodeStep(want)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		var read storedStep
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		got, known := read.decode("c")
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); !known || d != "" {
			t.Fatalf("known %t (-want +got):\n%s", known, d)
		}
	})
}

// A record with everything in it, too.
func TestWholeRecordsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := sharing.Record{UID: "c", Namespace: word.Draw(t, "namespace"), Name: word.Draw(t, "name"), Grant: &sharing.Grant{Devices: []sharing.Granted{}}}
		want.State = rapid.SampledFrom([]sharing.State{sharing.Preparing, sharing.Prepared, sharing.Releasing}).Draw(t, "state")
		want.Steps = rapid.SliceOfN(step, 0, 6).Draw(t, "steps")
		for slot, gi := range rapid.MapOfN(word, number, 0, 4).Draw(t, "facts") {
			want.Learn(slot, sharing.Fact{GI: gi, CI: number.Draw(t, "ci"), UUID: word.Draw(t, "uuid")})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "holds") {
			want.Holds = append(want.Holds, sharing.Hold{Slot: fmt.Sprint(word.Draw(t, "slot"), i), Claim: "c", Share: word.Draw(t, "share"),
				Namespace: want.Namespace, Name: want.Name, Admin: rapid.Bool().Draw(t, "admin"), Found: rapid.Bool().Draw(t, "found")})
			want.Grant.Devices = append(want.Grant.Devices, sharing.Granted{Request: word.Draw(t, "request"), Pool: word.Draw(t, "pool"),
				Device: word.Draw(t, "device"), Share: word.Draw(t, "share"), CDI: rapid.SliceOfN(word, 1, 2).Draw(t, "cdi")})
		}
		raw, err := encodeClaim(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeClaim("c", raw)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Fatalf("%v (-want +got):\n%s", err, d)
		}
	})
}

// What is known of GPUs, and what is published of them, survives the file.
func TestGPUsAndSlotsComeBackAsTheyWere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := open(t, path)
	defer func() { ok(t, j.Close()) }()
	rapid.Check(t, func(t *rapid.T) {
		address := rapid.SampledFrom([]string{"0000:01:00.0", "0000:02:00.0"}).Draw(t, "address")
		known := sharing.Known{Boot: word.Draw(t, "boot"), GPU: sharing.GPU{
			Name: word.Draw(t, "name"), Address: address, UUID: word.Draw(t, "uuid"), Minor: number.Draw(t, "minor"), Product: word.Draw(t, "product"),
			Brand: word.Draw(t, "brand"), Architecture: word.Draw(t, "arch"), ComputeCapability: word.Draw(t, "cc"), DriverVersion: word.Draw(t, "driver"),
			CUDAVersion: word.Draw(t, "cuda"), MemoryBytes: rapid.Int64Min(0).Draw(t, "memory"), PCIeRoot: word.Draw(t, "root"),
			NUMANode: rapid.Ptr(number, true).Draw(t, "numa"), AddressingMode: word.Draw(t, "mode"),
		}}
		if rapid.Bool().Draw(t, "mig") {
			known.MIG = &sharing.MIG{Switchable: rapid.Bool().Draw(t, "switchable")}
			for _, p := range rapid.SliceOfN(profile, 1, 3).Draw(t, "profiles") {
				for range rapid.IntRange(0, 3).Draw(t, "placements") {
					p.Placements = append(p.Placements, partition.Draw(t, "placement").Placement)
				}
				known.MIG.Geometry = append(known.MIG.Geometry, p)
			}
		}
		var listed []sharing.Listed
		for range rapid.IntRange(0, 4).Draw(t, "slots") {
			l := sharing.Listed{Slot: sharing.Slot{Name: word.Draw(t, "slot")}, Retiring: rapid.Int64Min(0).Draw(t, "retiring"), Asked: rapid.Int64Min(0).Draw(t, "asked")}
			if rapid.Bool().Draw(t, "part") {
				l.Part = &sharing.Part{Profile: profile.Draw(t, "profile"), Placement: partition.Draw(t, "at").Placement, UUID: word.Draw(t, "uuid")}
			}
			listed = append(listed, l)
		}
		// Without a sync for each: what is read is in the same process.
		j.db.NoSync = true
		gpus, slots, err := through(j, known, listed)
		if err != nil {
			t.Fatal(err)
		}
		// Without EquateEmpty: what differs only in that would be news at each look.
		if d := cmp.Diff(known, gpus[address]); d != "" {
			t.Fatalf("GPU (-want +got):\n%s", d)
		}
		if d := cmp.Diff(listed, slots[address]); d != "" {
			t.Fatalf("slots (-want +got):\n%s", d)
		}
	})
}

func through(j *Journal, known sharing.Known, listed []sharing.Listed) (map[string]sharing.Known, map[string][]sharing.Listed, error) {
	if err := j.Remember([]sharing.Known{known}); err != nil {
		return nil, nil, err
	}
	if err := j.List(map[string][]sharing.Listed{known.Address: listed}); err != nil {
		return nil, nil, err
	}
	gpus, err := j.Known()
	if err != nil {
		return nil, nil, err
	}
	slots, err := j.Listed()
	return gpus, slots, err
}

// A step that only a later release knows is not passed over.
func TestUnknownStepIsNotPassedOver(t *testing.T) {
	if _, err := decodeClaim("c", []byte(`{"state":"prepared","steps":[{"startDaemon":{"slot":"gpu-0"}}]}`)); err == nil {
		t.Error("the record is read without it")
	}
}
