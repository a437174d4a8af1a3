// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// pipeDirectory is where a client of an MPS daemon finds it in its container: the
// default, so that it needs to be told nothing.
const pipeDirectory = "/tmp/nvidia-mps"

// asClient makes the container a client of the device's MPS daemon: it has the
// daemon's pipe, and the memory through which the two talk in place of its own.
func (s *Specs) asClient(e specs.ContainerEdits, d sharing.SpecDevice) specs.ContainerEdits {
	if d.Daemon == "" {
		return e
	}
	dir := filepath.Join(s.cfg.MPSRoot, d.Daemon)
	options := []string{"rw", "nosuid", "nodev", "bind"}
	out := e
	out.Env = append(slices.Clone(e.Env), "CUDA_MPS_PIPE_DIRECTORY="+pipeDirectory)
	out.Mounts = append(slices.Clone(e.Mounts),
		&specs.Mount{HostPath: filepath.Join(dir, "shm"), ContainerPath: "/dev/shm", Options: options},
		&specs.Mount{HostPath: filepath.Join(dir, "pipe"), ContainerPath: pipeDirectory, Options: options})
	return out
}

// withShare tells the container what it has a share of, for programs that would take
// the size of the whole GPU for theirs, and has the driver hold it to its memory where
// that is how the share is limited.
func withShare(e specs.ContainerEdits, d sharing.SpecDevice, limits *specs.Hook) (specs.ContainerEdits, error) {
	if d.Shared == nil {
		return e, nil
	}
	s := *d.Shared
	out := e
	out.Env = append(slices.Clone(e.Env),
		"COTENANT_OFFER="+s.Offer,
		fmt.Sprintf("COTENANT_SHARE=1/%d", s.Shares),
		"COTENANT_COMPUTE_PERCENT="+strconv.Itoa(percent(s)),
		"COTENANT_MEMORY_LIMIT="+string(s.Memory))
	if s.MemoryMiB > 0 && d.MemoryMiB > 0 {
		// Rounded down: who takes this fraction of the whole stays within the share.
		fraction := math.Floor(float64(s.MemoryMiB)/float64(d.MemoryMiB)*10000) / 10000
		out.Env = append(out.Env,
			fmt.Sprintf("COTENANT_MEMORY_BYTES=%d", s.MemoryMiB<<20),
			"COTENANT_MEMORY_FRACTION="+strconv.FormatFloat(fraction, 'f', -1, 64))
	}
	if s.Memory != sharing.MemoryPerContainer {
		return out, nil
	}
	if limits == nil {
		return e, api.Errorf(api.Internal, "the memory of %s is to be limited by the container, and nvcdi has no hook for it", d.Name)
	}
	// Both, always: what is missing here could be set by the pod.
	out.Env = append(out.Env,
		fmt.Sprintf("NVIDIA_GPU_MEMORY_REQUEST=%d", s.MemoryMiB),
		fmt.Sprintf("NVIDIA_GPU_MEMORY_LIMIT=%d", s.MemoryMiB))
	out.Hooks = append(slices.Clone(e.Hooks), limits)
	return out, nil
}

// percent is what part of the multiprocessors a process of the share may use.
func percent(s sharing.Shared) int {
	if s.Compute() == sharing.ComputeUnlimited {
		return 100
	}
	return s.ActiveThreads
}
