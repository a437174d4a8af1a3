// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// MemoryLimit is what one control group may have of one GPU's memory.
type MemoryLimit struct {
	Cgroup string `json:"cgroup"` // its directory, as it was named
	Inode  uint64 `json:"inode"`  // of that directory, which tells in every namespace which it is
	Space  string `json:"space"`  // the control group namespace in which it was named
	Soft   uint64 `json:"soft"`   // bytes that it can always have
	Hard   uint64 `json:"hard"`   // bytes, at most; NoMemoryLimit for none
}

// NoMemoryLimit is NVML_DEVICE_MEMORY_LIMIT_MAX.
const NoMemoryLimit = ^uint64(0)

const mib = 1 << 20

// LimitMemory is what nvmlDeviceSetMemoryLimits_v1 does, with the codes of NVML's
// header; limits are in bytes. It is NOT_SUPPORTED while MIG is on, which the
// header says of MIG handles and which is unproven for their GPU.
func (s *State) LimitMemory(g *GPU, cgroup string, soft, hard uint64) Code {
	total := products[g.Product].MemoryMiB * mib
	beyond := func(n uint64) bool { return n > total && n != NoMemoryLimit }
	inode, ok := CgroupInode(cgroup)
	switch {
	case g.MIG.Current:
		return NotSupported
	case soft > hard, beyond(soft), beyond(hard):
		return InvalidArgument
	case !ok:
		return OperatingSystem
	}
	g.Limits = slices.DeleteFunc(g.Limits, func(l MemoryLimit) bool { return l.Inode == inode })
	if soft > 0 || hard != NoMemoryLimit {
		g.Limits = append(g.Limits, MemoryLimit{Cgroup: cgroup, Inode: inode, Space: cgroupSpace(), Soft: soft, Hard: hard})
	}
	return Success
}

// MemoryLimits is what nvmlDeviceGetMemoryLimits_v1 reads: the limits of a control
// group, and the bytes that its processes have.
func (s *State) MemoryLimits(g *GPU, cgroup string) (l MemoryLimit, used uint64, c Code) {
	inode, ok := CgroupInode(cgroup)
	switch {
	case g.MIG.Current:
		return l, 0, NotSupported
	case !ok:
		return l, 0, OperatingSystem
	}
	l = MemoryLimit{Cgroup: cgroup, Inode: inode, Hard: NoMemoryLimit}
	for _, set := range g.Limits {
		if set.Inode == inode {
			l = set
		}
	}
	return l, s.usedIn(g, inode), Success
}

// usedIn is what the processes of a control group have of a GPU, in bytes.
func (s *State) usedIn(g *GPU, inode uint64) uint64 {
	var sum uint64
	for _, p := range s.Processes {
		if p.UUID == g.UUID && slices.Contains(p.Cgroups, inode) {
			sum += p.MemoryMiB * mib
		}
	}
	return sum
}

// within answers whether the limits of control groups let p have miB more of g:
// those of its own, and what others are sure of. That others' memory is never
// taken back instead is a simplification.
func (s *State) within(g *GPU, p Process, miB uint64) error {
	free := s.freeMiB(place{gpu: g}) * mib
	for _, l := range g.Limits {
		used := s.usedIn(g, l.Inode)
		switch {
		case !slices.Contains(p.Cgroups, l.Inode):
			free -= min(free, l.Soft-min(l.Soft, used))
		case l.Hard != NoMemoryLimit && used+miB*mib > l.Hard:
			return fmt.Errorf("%d MiB on top of %d of control group %s, the limit is %d: %w", miB, used/mib, l.Cgroup, l.Hard/mib, CUDAOutOfMemory)
		}
	}
	if miB*mib > free {
		return fmt.Errorf("%d MiB of GPU %s, %d are neither taken nor set apart for a control group: %w", miB, g.UUID, free/mib, CUDAOutOfMemory)
	}
	return nil
}

// CgroupInode is the inode of a control group's directory. It is false when that
// cannot be opened or is none of version 2, each of which has cgroup.controllers.
func CgroupInode(dir string) (inode uint64, ok bool) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return 0, false
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err != nil {
		return 0, false
	}
	return info.Sys().(*syscall.Stat_t).Ino, true
}

// dropLimits forgets the limits of control groups that were removed, as far as
// that can be seen from here.
func (s *State) dropLimits() {
	here := ""
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if len(g.Limits) == 0 {
			continue
		}
		if here == "" {
			here = cgroupSpace()
		}
		g.Limits = slices.DeleteFunc(g.Limits, func(l MemoryLimit) bool {
			inode, ok := CgroupInode(l.Cgroup)
			return l.Space == here && (!ok || inode != l.Inode)
		})
	}
}

// cgroupSpace names the control group namespace of this process, "" where there is
// no telling.
func cgroupSpace() string {
	space, err := os.Readlink("/proc/self/ns/cgroup")
	if err != nil {
		return ""
	}
	return space
}
