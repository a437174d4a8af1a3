// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// program is the plugin; companion is what it looks for beside itself.
const (
	program   = "cotenant-plugin"
	companion = "nvidia-cdi-hook"
)

// copyBuffer is how much is copied at a time, as by whoever unpacks an image.
const copyBuffer = 32 << 10

// unpack copies the programs from one directory to another and returns the path
// of the plugin. On a node they come out of an image. As the linker has left
// them, they may lie in the page cache in pages of 2 MB, and then a process that
// touches some of its code has all of it resident: 22 MB more for the same
// program (Linux 6.18, ext4).
func unpack(from, to string) (string, error) {
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{program, companion} {
		if err := copyProgram(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return "", fmt.Errorf("copy %s: %w; run `make lab` if it is missing", name, err)
		}
	}
	return filepath.Join(to, program), nil
}

func copyProgram(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	// Without their types, so that the copy goes through the buffer.
	_, err = io.CopyBuffer(struct{ io.Writer }{dst}, struct{ io.Reader }{src}, make([]byte, copyBuffer))
	return errors.Join(err, dst.Close())
}
