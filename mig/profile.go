// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig

// Profile is a GPU instance profile of one GPU, as NVML reports it
// (nvmlGpuInstanceProfileInfo_t and nvmlDeviceGetGpuInstancePossiblePlacements).
type Profile struct {
	// Index is the argument of nvmlDeviceGetGpuInstanceProfileInfo, one of
	// NVML_GPU_INSTANCE_PROFILE_*.
	Index int
	// ID is what that call reports: 19 for 1g on an A100. Device names carry it,
	// and nvidia-smi prints it. It is not the Index.
	ID int
	// Name is "1g.10gb", "1g.10gb+me". Two profiles of a GPU can share a name,
	// and names move with the driver version; the ID identifies.
	Name string
	// Slices is the number of compute slices, the G of the name.
	Slices int
	// Max is how many instances of it a GPU may have.
	Max int
	// MemoryMiB is the memory of an instance.
	MemoryMiB int64
	Engines
	// Placements are where an instance may lie.
	Placements []Placement
}

// Engines are what an instance has besides memory.
type Engines struct {
	Multiprocessors int
	CopyEngines     int
	Decoders        int
	Encoders        int
	JPEGEngines     int
	OFAEngines      int
}

// Placement is a run of memory slices, the units in which NVML places instances.
type Placement struct {
	Start int
	Size  int
}

// Overlaps says whether the two have a unit in common.
func (p Placement) Overlaps(q Placement) bool {
	return p.Start < q.Start+q.Size && q.Start < p.Start+p.Size
}

// Partition is a profile at a placement: what an instance is, or could be.
type Partition struct {
	// Profile is the ID of the profile.
	Profile int
	Placement
}

// Geometry is the profiles of one GPU. One that cannot be partitioned has none.
type Geometry []Profile
