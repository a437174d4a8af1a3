// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// cgroups are the control groups that this process is in, as inodes: those that
// can be seen from here.
func (h *host) cgroups() []uint64 {
	dir := h.env("COTENANT_SIM_CGROUP")
	if dir == "" {
		dir = ownCgroup()
	}
	var out []uint64
	for inode, ok := sim.CgroupInode(dir); ok; inode, ok = sim.CgroupInode(dir) {
		out = append(out, inode)
		dir += "/.."
	}
	return out
}

// ownCgroup is where the version 2 hierarchy shows this process's group: its line
// in /proc/self/cgroup begins with 0 (cgroups(7)).
func ownCgroup() string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if _, ok := sim.CgroupInode(mount + path); ok {
				return mount + path
			}
		}
	}
	return ""
}

// cgroupLimit is the lowest limit of this process's control groups, in MiB.
func (h *host) cgroupLimit(d sim.Device) uint64 {
	var lowest uint64
	if d.CI != nil || len(d.GPU.Limits) == 0 {
		return 0
	}
	groups := h.cgroups()
	for _, l := range d.GPU.Limits {
		if miB := l.Hard >> 20; l.Hard != sim.NoMemoryLimit && slices.Contains(groups, l.Inode) && (lowest == 0 || miB < lowest) {
			lowest = miB
		}
	}
	return lowest
}
