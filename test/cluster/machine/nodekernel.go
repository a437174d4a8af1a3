// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelSettings are the files under /proc/sys that a kubelet writes when it
// starts (ContainerManager's kernel tunables).
var kernelSettings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

const bootIDFile = "/proc/sys/kernel/random/boot_id"

// kernel gives the node a boot id of this boot, and its own kernel settings.
func (n NodeRoot) kernel(openDirs) error {
	dir := "/run/cotenant-kernel"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return fmt.Errorf("make a boot id: %w", err)
	}
	if err := cover(bootIDFile, filepath.Join(dir, "boot_id"), id, 0o444); err != nil {
		return err
	}
	for _, name := range kernelSettings {
		path := filepath.Join("/proc/sys", name)
		value, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without it
		}
		if err != nil {
			return fmt.Errorf("read kernel setting: %w", err)
		}
		if err := cover(path, filepath.Join(dir, strings.ReplaceAll(name, "/", ".")), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cover binds a new file with the given content over path.
func cover(path, file string, content []byte, mode os.FileMode) error {
	if err := os.WriteFile(file, content, mode); err != nil {
		return err
	}
	if err := unix.Mount(file, path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cover %s: %w", path, err)
	}
	return nil
}

// Init is the group, below the node's own, of the node's daemons: with cgroup v2
// a group that has processes cannot have groups with limits below it.
const Init = "/init"

func (n NodeRoot) cgroups(openDirs) error {
	mounts, err := ReadMounts()
	if err != nil {
		return err
	}
	groups := ReadCgroups(mounts)
	if err := groups.Remount(); err != nil {
		return err
	}
	if err := groups.Make(Init); err != nil {
		return err
	}
	return groups.Join(Init)
}
