// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"path/filepath"
	"regexp"

	"github.com/cotenant-dev/cotenant/api"
)

// id is a DNS label: nothing in it can lead out of a directory.
var id = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// uuid is what NVIDIA's programs accept in CUDA_VISIBLE_DEVICES and nothing that
// would end one there.
var uuid = regexp.MustCompile(`^(GPU|MIG)-[A-Za-z0-9/-]{1,96}$`)

const (
	maxDevices = 64
	// maxMiB is far above any GPU, and far below where a number of bytes ends.
	maxMiB = 1 << 30
	// maxSocket is the longest name that a Unix socket can have: sun_path of
	// unix(7) without its terminating zero.
	maxSocket = 107
)

// Shm and Pipe are the directories of a daemon below the supervisor's root: what
// its clients have at /dev/shm and at PipeMount.
func Shm(root, id string) string  { return filepath.Join(root, id, "shm") }
func Pipe(root, id string) string { return filepath.Join(root, id, "pipe") }

// PipeMount is where a daemon and its clients have the pipe directory: the place
// where CUDA looks if nothing is said.
const PipeMount = "/tmp/nvidia-mps"

// CheckID refuses what cannot be the name of a daemon below the root.
func CheckID(root, name string) error {
	if !id.MatchString(name) {
		return api.Errorf(api.Invalid, "%.80q is not the name of an MPS daemon: want 1 to 63 lower case letters, digits and dashes", name)
	}
	if socket := filepath.Join(Pipe(root, name), "control"); len(socket) >= maxSocket {
		return api.Errorf(api.Invalid, "%s has %d bytes, and a socket's name must stay below %d; use a shorter --root", socket, len(socket), maxSocket)
	}
	return nil
}

// Check refuses settings that no daemon can have.
func (s Settings) Check() error {
	if len(s.UUIDs) == 0 || len(s.UUIDs) > maxDevices {
		return api.Errorf(api.Invalid, "%d devices: an MPS daemon serves 1 to %d", len(s.UUIDs), maxDevices)
	}
	for i, u := range s.UUIDs {
		if !uuid.MatchString(u) {
			return api.Errorf(api.Invalid, "%.110q is not the UUID of a GPU or MIG device", u)
		}
		if i > 0 && s.UUIDs[i-1] >= u {
			return api.Errorf(api.Invalid, "%s and %s: devices must be sorted, each once, since limits go by position", s.UUIDs[i-1], u)
		}
	}
	if p := s.ActiveThreadPercentage; p < 0 || p > 100 {
		return api.Errorf(api.Invalid, "active thread percentage %d: want 1 to 100, or 0 for none", p)
	}
	if n := len(s.PinnedMemoryMiB); n > len(s.UUIDs) {
		return api.Errorf(api.Invalid, "%d memory limits for %d devices", n, len(s.UUIDs))
	}
	for i, m := range s.PinnedMemoryMiB {
		if m < 0 || m > maxMiB {
			return api.Errorf(api.Invalid, "memory limit of %d MiB for %s: want 1 to %d, or 0 for none", m, s.UUIDs[i], maxMiB)
		}
	}
	return nil
}
