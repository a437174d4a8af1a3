// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/sharing"
)

// withCapabilities returns the edits of a GPU with the two device nodes that open
// one partition of it: the GPU instance's and the compute instance's. nvcdi would
// look for them in the process' own /proc, and some of its releases leave them out.
//
// The nodes need not exist on the host: the runtime makes them by their numbers.
func (s *Specs) withCapabilities(gpu specs.ContainerEdits, minor int, f sharing.Fact) (specs.ContainerEdits, error) {
	major, err := s.capabilityMajor()
	if err != nil {
		return gpu, err
	}
	out := gpu
	out.DeviceNodes = append([]*specs.DeviceNode{}, gpu.DeviceNodes...)
	instance := fmt.Sprintf("driver/nvidia/capabilities/gpu%d/mig/gi%d", minor, f.GI)
	for _, access := range []string{
		filepath.Join(instance, "access"),
		filepath.Join(instance, fmt.Sprintf("ci%d", f.CI), "access"),
	} {
		number, err := s.capabilityMinor(access)
		if err != nil {
			return gpu, fmt.Errorf("find the capability of MIG instance %s: %w", f.UUID, err)
		}
		out.DeviceNodes = append(out.DeviceNodes, &specs.DeviceNode{
			Path: fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", number), Type: "c", Major: major, Minor: number, Permissions: "rw",
		})
	}
	return out, nil
}

// capabilityMajor is the major number of the driver's capability devices.
func (s *Specs) capabilityMajor() (int64, error) {
	path := filepath.Join(s.cfg.ProcRoot, "devices")
	number, found, err := field(path, func(line string) (string, bool) {
		words := strings.Fields(line)
		if len(words) == 2 && words[1] == "nvidia-caps" {
			return words[0], true
		}
		return "", false
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no nvidia-caps: the driver offers no MIG capabilities", path)
	}
	return number, err
}

// capabilityMinor reads the minor number from a capability's file.
func (s *Specs) capabilityMinor(access string) (int64, error) {
	path := filepath.Join(s.cfg.ProcRoot, access)
	number, found, err := field(path, keyed("DeviceFileMinor"))
	if err == nil && !found {
		err = fmt.Errorf("%s has no DeviceFileMinor", path)
	}
	return number, err
}

// minor is the present minor number of the GPU at a PCI address, if the driver
// tells it in procfs.
func (s *Specs) minor(address string) (int, bool) {
	n, found, err := field(filepath.Join(s.cfg.ProcRoot, "driver/nvidia/gpus", address, "information"), keyed("Device Minor"))
	return int(n), found && err == nil
}

func askMinor(lib nvml.Interface, uuid string) (int, error) {
	dev, ret := lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return 0, fmt.Errorf("find %s: %s", uuid, lib.ErrorString(ret))
	}
	minor, ret := dev.GetMinorNumber()
	if ret != nvml.SUCCESS {
		return 0, fmt.Errorf("find the minor number of %s: %s", uuid, lib.ErrorString(ret))
	}
	return minor, nil
}

// keyed finds the value of a line "key: value".
func keyed(key string) func(string) (string, bool) {
	return func(line string) (string, bool) {
		k, v, ok := strings.Cut(line, ":")
		return strings.TrimSpace(v), ok && strings.TrimSpace(k) == key
	}
}

// field returns the number in the first line of a file that find accepts.
func field(path string, find func(string) (string, bool)) (int64, bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if v, ok := find(lines.Text()); ok {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return 0, false, fmt.Errorf("%s: %w", path, err)
			}
			return n, true, nil
		}
	}
	return 0, false, lines.Err()
}
