// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// claim takes the pipe directory. What a killed daemon left in it is in the way
// until somebody removes it.
func (d *daemon) claim() error {
	if err := os.MkdirAll(d.PipeDirectory, 0o755); err != nil {
		return fmt.Errorf("making the pipe directory: %w", err)
	}
	if _, err := os.Lstat(d.path(controlSocket)); err == nil {
		return saying("An instance of this daemon is already running: " + d.path(controlSocket) + " is there")
	}
	f, err := os.OpenFile(d.path(pidFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return saying("An instance of this daemon is already running: " + d.path(pidFile) + " is there")
	}
	if err != nil {
		return fmt.Errorf("making the pid file: %w", err)
	}
	_, err = fmt.Fprintln(f, os.Getpid())
	return errors.Join(err, f.Close())
}

// unclaim leaves the pipe directory.
func (d *daemon) unclaim() error {
	var errs []error
	for _, name := range []string{controlSocket, pidFile} {
		if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *daemon) path(name string) string { return filepath.Join(d.PipeDirectory, name) }

// maxSocketPath is the longest path of a unix socket: 108 bytes with the zero that
// ends it (unix(7)).
const maxSocketPath = 107

func listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("socket %s has a path of %d bytes: choose a pipe directory that keeps it within %d", path, len(path), maxSocketPath)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// The clients of all users connect.
	return l, os.Chmod(path, 0o777)
}
