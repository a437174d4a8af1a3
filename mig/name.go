// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig

import "fmt"

// Name is the name of a profile as NVIDIA's tools print it, "1g.10gb" or
// "1g.10gb+me".
//
// The gigabytes are the share of the whole GPU in eighths, rounded up, of the
// GPU's memory in GiB, rounded up; they are not the memory of an instance. The
// formula was compared with the names in the output of nvidia-smi for all parts
// whose output is public. A GPU whose totalBytes is not known (0) gives the
// memory of the instance in GiB, rounded up.
func Name(index, slices int, memoryMiB, totalBytes int64) string {
	return fmt.Sprintf("%dg.%dgb%s", slices, gigabytes(memoryMiB, totalBytes), suffix(index))
}

func gigabytes(memoryMiB, totalBytes int64) int64 {
	if totalBytes <= 0 {
		return ceil(memoryMiB, 1<<10)
	}
	eighths, gib := ceil(8*memoryMiB<<20, totalBytes), ceil(totalBytes, 1<<30)
	return (eighths*gib + 4) / 8 // halves go up
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// suffix tells apart the profiles of one size. The numbers are those of
// NVML_GPU_INSTANCE_PROFILE_* in nvml.h.
func suffix(index int) string {
	switch index {
	case 7, 8: // 1_SLICE_REV1, 2_SLICE_REV1: with media extensions
		return "+me"
	case 15, 16: // 1_SLICE_ALL_ME, 2_SLICE_ALL_ME
		return "+me.all"
	case 10, 11, 12, 17: // 1_SLICE_GFX, 2_SLICE_GFX, 4_SLICE_GFX, 3_SLICE_GFX
		return "+gfx"
	case 13, 14: // 1_SLICE_NO_ME, 2_SLICE_NO_ME
		return "-me"
	default: // 9, 1_SLICE_REV2, is told apart by its memory
		return ""
	}
}
