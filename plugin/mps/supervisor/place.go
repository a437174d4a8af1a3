// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// place is the directory of one daemon.
type place struct {
	id   string
	dir  string
	shm  string
	pipe string
	logs string
	cfg  *Config
}

func (c *Config) place(id string) place {
	return place{id: id, dir: filepath.Join(c.Root, id), shm: mps.Shm(c.Root, id), pipe: mps.Pipe(c.Root, id), logs: c.logs(id), cfg: c}
}

// source is how the mounts of daemons are told from any others, whatever the path
// under which a namespace has them.
const source = "cotenant-mps:"

// What bounds the two tmpfs beside the size: files cost kernel memory that no size
// counts. A pipe directory holds some sockets for each client.
const (
	shmBounds  = "nr_inodes=65536"
	pipeBounds = "size=1m,nr_inodes=4096"
)

// exists says whether there was a daemon in this place.
func (p place) exists() bool {
	_, err := os.Lstat(p.dir)
	return err == nil
}

// make makes what is missing, and keeps what is there: containers may have it
// mounted.
func (p place) make() error {
	for _, d := range []string{p.dir, p.shm, p.pipe, p.logs} {
		if err := directory(d); err != nil {
			return fmt.Errorf("make its directories: %w", err)
		}
	}
	// Servers of several users write here.
	if err := os.Chmod(p.logs, os.ModeSticky|0o777); err != nil {
		return fmt.Errorf("make its directories: %w", err)
	}
	if err := p.mount(p.shm, "size="+p.cfg.ShmSize+","+shmBounds); err != nil {
		return fmt.Errorf("mount its shared memory: %w", err)
	}
	if err := p.mount(p.pipe, pipeBounds); err != nil {
		return fmt.Errorf("mount its pipe directory: %w", err)
	}
	return nil
}

// directory makes one that any user can pass through, whatever the umask.
func directory(path string) error {
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is there and no directory; remove it", path)
	}
	if info.Mode().Perm()&0o755 != 0o755 {
		return os.Chmod(path, info.Mode().Perm()|0o755)
	}
	return nil
}

// mount puts a tmpfs on a directory, unless it is there. The sticky bit keeps a
// user from taking away the socket of the daemon.
func (p place) mount(on, options string) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.point == on && m.source == source+p.id {
			return nil
		}
		if m.point == on {
			return fmt.Errorf("%s of %s is mounted at %s; unmount it", m.fstype, m.source, on)
		}
	}
	options += ",mode=1777"
	if p.cfg.Label != "" && selinux() {
		options += fmt.Sprintf(",context=%q", p.cfg.Label)
	}
	err = unix.Mount(source+p.id, on, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options)
	if err != nil {
		return fmt.Errorf("tmpfs at %s with %s: %w", on, options, err)
	}
	return nil
}

func selinux() bool {
	_, err := os.Stat("/sys/fs/selinux/enforce")
	return err == nil
}

// clean empties the pipe directory of a daemon that is no more: its socket and pid
// file keep another one from starting. The directory is the tenants' to write, so
// no name in it is followed.
func (p place) clean() error {
	root, err := os.OpenRoot(p.pipe)
	if err != nil {
		return fmt.Errorf("empty its pipe directory: %w", err)
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return fmt.Errorf("empty its pipe directory: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, root.RemoveAll(name))
	}
	if err != nil {
		return fmt.Errorf("empty its pipe directory: %w", err)
	}
	return nil
}

// remove takes away mounts and directories, of which any may be missing. Nothing
// is removed through a mount.
func (p place) remove() error {
	for _, on := range []string{p.shm, p.pipe} {
		if err := unmount(on); err != nil {
			return err
		}
	}
	all, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range all {
		if within(m.point, p.dir) {
			return fmt.Errorf("remove %s: %s of %s is mounted at %s; unmount it", p.dir, m.fstype, m.source, m.point)
		}
	}
	for _, d := range []string{p.dir, p.logs} {
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("remove its directories: %w", err)
		}
	}
	return nil
}

// unmount takes away every mount on a point: somebody may have stacked them.
func unmount(point string) error {
	for {
		all, err := mounts()
		if err != nil {
			return err
		}
		mounted := false
		for _, m := range all {
			mounted = mounted || m.point == point
		}
		if !mounted {
			return nil
		}
		if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
}
