// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// nullDevice stands in for a device node where mknod is not allowed.
const nullDevice = "/dev/null"

// errNoNodes says that this process may not make device nodes.
var errNoNodes = errors.New("mknod is not permitted")

// standIn puts the null device at at: bound over a file where mounts are allowed,
// as in a user namespace, else by a link.
func standIn(temp, at string) error {
	if mounted(at) {
		return nil
	}
	if err := os.Symlink(nullDevice, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, at); err != nil {
		return err
	}
	if inUserNamespace() {
		_ = bindNull(temp, at) // the link is there where it fails
	}
	return nil
}

// inUserNamespace says whether mounts made here end with the process: nothing is
// ever mounted in the machine's own namespace.
func inUserNamespace() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	const all = "4294967295" // the initial namespace maps every id (user_namespaces(7))
	return err == nil && !strings.Contains(string(ids), all)
}

func bindNull(temp, at string) error {
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		return err
	}
	// Tried where it can be taken back before it replaces the link.
	if err := unix.Mount(nullDevice, temp, "", unix.MS_BIND, ""); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := unix.Unmount(temp, unix.MNT_DETACH); err != nil {
		return err
	}
	if err := os.Rename(temp, at); err != nil {
		return err
	}
	return unix.Mount(nullDevice, at, "", unix.MS_BIND, "")
}

// mounted says whether the null device is bound over the file at at.
func mounted(at string) bool {
	info, err := os.Lstat(at)
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return false
	}
	var st, parent unix.Stat_t
	if unix.Lstat(at, &st) != nil || unix.Lstat(filepath.Dir(at), &parent) != nil {
		return false
	}
	return st.Dev != parent.Dev
}

// remove removes what is at at, a stand-in's mount first.
func remove(at string) error {
	if mounted(at) {
		if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return err
		}
	}
	return os.RemoveAll(at)
}
