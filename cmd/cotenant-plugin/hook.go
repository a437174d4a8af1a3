// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const hookName = "nvidia-cdi-hook"

// installHook returns where the container runtime finds nvidia-cdi-hook. The
// runtime runs on the host and cannot see into our image, so the program that
// lies beside this one is copied into the plugin's directory, which has the same
// path on both sides.
func installHook(o *options) (string, error) {
	if o.hookPath != "" {
		return o.hookPath, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	src, dst := filepath.Join(filepath.Dir(self), hookName), filepath.Join(o.paths.Data(), hookName)
	same, err := sameFile(src, dst)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is missing beside %s; install it there or set --nvidia-cdi-hook-path", hookName, self)
	}
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", hookName, err)
	}
	if same {
		return dst, nil
	}
	if err := replaceFile(src, dst); err != nil {
		return "", fmt.Errorf("install %s: %w", hookName, err)
	}
	return dst, nil
}

// sameFile says whether dst is what src is. A dst that cannot be read is not; an
// error is about src.
func sameFile(src, dst string) (bool, error) {
	a, err := os.Open(src)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(dst)
	if err != nil {
		return false, nil
	}
	defer b.Close()
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		switch endA, endB := ended(errA), ended(errB); {
		case endA && endB:
			return true, nil
		case errA != nil && !endA:
			return false, errA
		case endA || endB || errB != nil:
			return false, nil
		}
	}
}

func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// replaceFile puts a copy of src at dst in one step: a hook that runs at this
// moment keeps its own inode.
func replaceFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := dst + ".tmp"
	out, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(tmp, dst)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}
