// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// place makes e at temp and renames it to at.
func place(temp, at string, e entry) error {
	if e.kind == dir {
		return os.MkdirAll(at, e.mode)
	}
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	err := make1(temp, e)
	if errors.Is(err, errNoNodes) {
		return standIn(temp, at)
	}
	if err != nil {
		return err
	}
	return os.Rename(temp, at)
}

func make1(at string, e entry) error {
	switch e.kind {
	case symlink:
		return os.Symlink(e.content, at)
	case charDev:
		err := unix.Mknod(at, unix.S_IFCHR|uint32(e.mode), int(unix.Mkdev(e.major, e.minor)))
		if errors.Is(err, unix.EPERM) {
			return errNoNodes
		}
		if err != nil {
			return fmt.Errorf("mknod c %d %d: %w", e.major, e.minor, err)
		}
		return os.Chmod(at, e.mode)
	default:
		b, err := e.bytes()
		if err != nil {
			return err
		}
		if err := os.WriteFile(at, b, 0o600); err != nil {
			return err
		}
		return os.Chmod(at, e.mode)
	}
}

func (e entry) bytes() ([]byte, error) {
	if e.source != "" {
		return os.ReadFile(e.source)
	}
	return []byte(e.content), nil
}

// equal reports how what is at at differs from e; nil when it does not.
func equal(at string, e entry) error {
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	mode := info.Mode()
	switch {
	case e.kind == dir && mode.IsDir():
		return nil
	case e.kind == file && mode.IsRegular():
		return equalFile(at, mode, e)
	case e.kind == symlink && mode&fs.ModeSymlink != 0:
		return equalLink(at, e.content)
	case e.kind == charDev && mode&fs.ModeSymlink != 0:
		return equalLink(at, nullDevice)
	case e.kind == charDev && mounted(at):
		return nil
	case e.kind == charDev && mode&fs.ModeCharDevice != 0:
		return equalDevice(at, e)
	}
	return fmt.Errorf("%s is a %s, want a %s", at, mode.Type(), e.kind)
}

func equalFile(at string, mode fs.FileMode, e entry) error {
	want, err := e.bytes()
	if err != nil {
		return err
	}
	have, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, want) || mode.Perm() != e.mode {
		return fmt.Errorf("%s has %d bytes of mode %o, want other content or mode %o", at, len(have), mode.Perm(), e.mode)
	}
	return nil
}

func equalLink(at, target string) error {
	have, err := os.Readlink(at)
	if err == nil && have != target {
		return fmt.Errorf("%s leads to %s, want %s", at, have, target)
	}
	return err
}

func equalDevice(at string, e entry) error {
	var st unix.Stat_t
	if err := unix.Lstat(at, &st); err != nil {
		return err
	}
	if have := unix.Mkdev(e.major, e.minor); uint64(st.Rdev) != have {
		return fmt.Errorf("%s is device %d:%d, want %d:%d", at, unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)), e.major, e.minor)
	}
	return nil
}

// Verify reports every way in which root differs from t.
func Verify(root string, t Tree) error {
	var errs []error
	for _, name := range t.paths() {
		errs = append(errs, equal(filepath.Join(root, name), t.entry(root, name)))
	}
	err := filepath.WalkDir(root, func(at string, _ fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		if _, ok := t[filepath.ToSlash(name)]; !ok {
			errs = append(errs, fmt.Errorf("%s is in the root and should not be", at))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}
