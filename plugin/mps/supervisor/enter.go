// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// entry is what a child is told that becomes a control daemon.
type entry struct {
	Shm, Pipe, Logs string
	// Root becomes the root directory, or "" to keep it.
	Root string `json:",omitempty"`
	Path string
	Args []string
}

// statusFD is where the child writes what kept it from becoming the daemon. It is
// closed when it does become it.
const statusFD = 3

// Enter turns this process, a child of the supervisor, into the control daemon
// that raw describes: in a mount namespace of its own, with its shared memory and
// pipe directory where CUDA expects them, and with those of no other daemon. It
// returns only if that fails; the supervisor knows then, too.
func Enter(raw string) error {
	unix.CloseOnExec(statusFD)
	err := enter(raw)
	// Who waits at the other end reads this as the reason. It may be gone.
	_, _ = unix.Write(statusFD, []byte(err.Error()))
	return err
}

func enter(raw string) error {
	var e entry
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		return fmt.Errorf("read what to become: %w", err)
	}
	// A namespace belongs to a thread. The one that calls exec is the one that stays.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep its mounts to itself: %w", err)
	}
	if err := e.arrange(); err != nil {
		return err
	}
	if e.Root != "" {
		if err := unix.Chroot(e.Root); err != nil {
			return fmt.Errorf("make %s its root: %w", e.Root, err)
		}
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", e.Path, unix.Exec(e.Path, append([]string{e.Path}, e.Args...), os.Environ()))
}

// arrange puts the daemon's directories where it looks for them.
func (e entry) arrange() error {
	at := func(path string) string { return filepath.Join("/", e.Root, path) }
	if e.Root != "" {
		if err := e.furnish(at); err != nil {
			return err
		}
	}
	targets := []string{at("/dev/shm"), at(mps.PipeMount), at(logsMount)}
	for i, from := range []string{e.Shm, e.Pipe, e.Logs} {
		if err := os.MkdirAll(targets[i], 0o755); err != nil {
			return fmt.Errorf("make room at %s: %w", targets[i], err)
		}
		if err := unix.Mount(from, targets[i], "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s at %s: %w", from, targets[i], err)
		}
	}
	return forget(targets)
}

// furnish gives a driver root what a container's own root has: a /tmp that is not
// the driver's, since a pipe directory there would get into every container with
// a GPU, and /proc and /dev if it has none.
func (e entry) furnish(at func(string) string) error {
	if err := os.MkdirAll(at("/tmp"), 0o755); err != nil {
		return fmt.Errorf("give it a /tmp: %w", err)
	}
	if err := unix.Mount("cotenant-mps", at("/tmp"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=16m,mode=1777"); err != nil {
		return fmt.Errorf("give it a /tmp: %w", err)
	}
	for dir, sample := range map[string]string{"/proc": "self", "/dev": "null"} {
		if _, err := os.Lstat(at(filepath.Join(dir, sample))); err == nil {
			continue
		}
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			return fmt.Errorf("give it a %s: %w", dir, err)
		}
		if err := unix.Mount(dir, at(dir), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("give it a %s: %w", dir, err)
		}
	}
	return nil
}

// forget takes the tmpfs of all daemons out of this namespace, under whatever path
// it has them, but for the targets. They would stay in memory for as long as the
// namespace is there, and they are not this daemon's to see.
func forget(targets []string) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(all) {
		if !strings.HasPrefix(m.source, source) || slices.Contains(targets, m.point) {
			continue
		}
		if err := unix.Unmount(m.point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("leave %s behind: %w", m.point, err)
		}
	}
	return nil
}
