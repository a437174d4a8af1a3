// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
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
	want, err := os.ReadFile(src)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is missing beside %s; install it there or set --nvidia-cdi-hook-path", hookName, self)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", hookName, err)
	}
	if have, err := os.ReadFile(dst); err == nil && bytes.Equal(have, want) {
		return dst, nil
	}
	// A hook that runs at this moment keeps its own inode.
	if err := os.WriteFile(dst+".tmp", want, 0o755); err != nil {
		return "", errors.Join(fmt.Errorf("install %s: %w", hookName, err), os.Remove(dst+".tmp"))
	}
	if err := os.Rename(dst+".tmp", dst); err != nil {
		return "", fmt.Errorf("install %s: %w", hookName, err)
	}
	return dst, nil
}
