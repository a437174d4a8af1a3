// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml_test

import (
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"pgregory.net/rapid"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// theirs is the name that NVIDIA's library for Go gives a profile whose compute
// instance takes the whole GPU instance. It asks no driver.
func theirs(t interface{ Fatal(...any) }, index, slices int, memoryMiB, totalBytes uint64) string {
	whole := map[int]int{
		1: nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE, 2: nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE, 3: nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE,
		4: nvml.COMPUTE_INSTANCE_PROFILE_4_SLICE, 6: nvml.COMPUTE_INSTANCE_PROFILE_6_SLICE,
		7: nvml.COMPUTE_INSTANCE_PROFILE_7_SLICE, 8: nvml.COMPUTE_INSTANCE_PROFILE_8_SLICE,
	}
	name, err := device.New(nil).NewMigProfile(index, whole[slices], nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED, memoryMiB, totalBytes)
	if err != nil {
		t.Fatal(err)
	}
	return name.String()
}

func TestProfilesOfEveryProductAreNamedAsInNVIDIAsLibrary(t *testing.T) {
	for _, name := range sim.Products() {
		product, err := sim.LookupProduct(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range product.Profiles {
			want := theirs(t, p.Index, p.ComputeSlices, p.MemoryMiB, product.MemoryMiB<<20)
			if got := mig.Name(p.Index, p.ComputeSlices, int64(p.MemoryMiB), int64(product.MemoryMiB)<<20); got != want {
				t.Errorf("%s: index %d is called %s, want %s", name, p.Index, got, want)
			}
		}
	}
}

// sliceCounts are the compute slices of the profiles that the library can name,
// by index. NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX, 17, is not among them.
var sliceCounts = [...]int{1, 2, 3, 4, 7, 8, 6, 1, 2, 1, 1, 2, 4, 1, 2, 1, 2}

func TestProfilesOfAnyMemoryAreNamedAsInNVIDIAsLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		index := rapid.IntRange(0, len(sliceCounts)-1).Draw(t, "index")
		total := rapid.Int64Range(1<<30, 1<<40).Draw(t, "bytes of the GPU")
		memory := rapid.Int64Range(1, total>>20).Draw(t, "MiB of an instance")
		want := theirs(t, index, sliceCounts[index], uint64(memory), uint64(total))
		if got := mig.Name(index, sliceCounts[index], memory, total); got != want {
			t.Fatalf("called %s, want %s", got, want)
		}
	})
}
