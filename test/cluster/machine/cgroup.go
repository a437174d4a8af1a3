// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Cgroups are the mounted control group hierarchies: one with cgroup v2, one for
// each set of controllers with v1, and both kinds on a hybrid machine.
type Cgroups []hierarchy

type hierarchy struct {
	root    string // where it is mounted
	fstype  string // cgroup or cgroup2
	options string // that mount it again: its controllers, or its name
}

// ReadCgroups finds the hierarchies among the mounts.
func ReadCgroups(mounts []Mount) Cgroups {
	var c Cgroups
	for _, m := range mounts {
		if m.Type != "cgroup" && m.Type != "cgroup2" {
			continue
		}
		h := hierarchy{root: m.Point, fstype: m.Type}
		if h.fstype == "cgroup" {
			h.options = strings.Join(slices.DeleteFunc(slices.Clone(m.Super), notController), ",")
		}
		c = append(c, h)
	}
	return c
}

// notController tells what of a v1 hierarchy's options does not say which one it
// is. A mount that names other options than the first mount did is refused.
func notController(option string) bool {
	switch option {
	case "rw", "ro", "xattr", "clone_children", "noprefix", "seclabel":
		return true
	}
	return strings.HasPrefix(option, "release_agent=")
}

// Make makes the group at path in every hierarchy, able to take processes and to
// have groups with limits below it.
func (c Cgroups) Make(path string) error {
	for _, h := range c {
		dir := h.root
		for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			if h.fstype == "cgroup2" {
				enableControllers(dir)
			}
			dir = filepath.Join(dir, name)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make control group: %w", err)
			}
			// A new v1 cpuset has neither processors nor memory, and takes no process.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				if err := inherit(dir, file); err != nil && h.fstype == "cgroup" {
					return fmt.Errorf("make control group: %w", err)
				}
			}
		}
	}
	return nil
}

// enableControllers lets the groups in dir have limits. One controller at a time,
// since one that cannot be had, as cpuset with real-time processes about, must
// not cost the others; who asks for its limit later is told then.
func enableControllers(dir string) {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, name := range strings.Fields(string(have)) {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+name), 0)
	}
}

// inherit copies a setting from the parent of dir, if it has none and there is
// one.
func inherit(dir, file string) error {
	own, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && strings.TrimSpace(string(own)) != "") {
		return nil
	}
	if err != nil {
		return err
	}
	value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), value, 0)
}

// Join moves the calling process into the group at path, in every hierarchy.
func (c Cgroups) Join(path string) error {
	for _, h := range c {
		file := filepath.Join(h.root, path, "cgroup.procs")
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("join control group: %w", err)
		}
	}
	return nil
}

// Remount mounts every hierarchy again in place, so that its root is that of the
// calling process's control group namespace.
func (c Cgroups) Remount() error {
	for _, h := range slices.Backward(c) {
		if err := unix.Unmount(h.root, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", h.root, err)
		}
	}
	for _, h := range c {
		if err := unix.Mount("cgroup", h.root, h.fstype, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, h.options); err != nil {
			return fmt.Errorf("mount %s (%s): %w", h.root, h.options, err)
		}
	}
	return nil
}

// Members returns the ids of all processes in the group at path and below it, in
// any hierarchy. A group that does not exist has none.
func (c Cgroups) Members(path string) ([]int, error) {
	var pids []int
	err := c.walk(path, func(dir string) error {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		// A threaded or just removed group has no list of processes to read.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%s/cgroup.procs: %w", dir, err)
			}
			pids = append(pids, pid)
		}
		return nil
	})
	return pids, err
}

// Remove removes the group at path with all below it from every hierarchy. The
// kernel refuses for a moment after the last process has ended; Remove tries
// until the deadline.
func (c Cgroups) Remove(path string, deadline time.Time) error {
	for {
		err := c.tryRemove(path)
		if err == nil || !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // nothing announces that a group has emptied in v1
	}
}

func (c Cgroups) tryRemove(path string) error {
	var dirs []string
	if err := c.walk(path, func(dir string) error { dirs = append(dirs, dir); return nil }); err != nil {
		return err
	}
	for i := len(dirs) - 1; i >= 0; i-- { // children come after their parents
		if err := unix.Rmdir(dirs[i]); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove control group %s: %w", dirs[i], err)
		}
	}
	return nil
}

func (c Cgroups) walk(path string, visit func(dir string) error) error {
	for _, h := range c {
		err := filepath.WalkDir(filepath.Join(h.root, path), func(dir string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.IsDir() {
				return err
			}
			return visit(dir)
		})
		if err != nil {
			return fmt.Errorf("walk control group %s: %w", path, err)
		}
	}
	return nil
}
