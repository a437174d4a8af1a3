// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package userns lets tests that need device nodes run without root: in a user
// namespace, where a device node cannot be made but the null device can be bound
// over a file, which is all that a simulated GPU's node has to be.
package userns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside marks the process that runs in the namespace.
const inside = "COTENANT_TEST_USERNS"

// Main is m.Run for root, and m.Run in a user namespace of its own for others.
// What the tests leave in their temporary directories, mount points among it, is
// removed after the namespace is gone.
func Main(m *testing.M) int {
	if os.Geteuid() == 0 || Inside() {
		return m.Run()
	}
	code, err := again()
	if err != nil {
		fmt.Fprintln(os.Stderr, "userns: cannot run the tests without root:", err)
		return 1
	}
	return code
}

// Inside says whether the tests run in such a namespace.
func Inside() bool { return os.Getenv(inside) != "" }

func again() (code int, err error) {
	temp, err := os.MkdirTemp("", "u")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1", "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	err = cmd.Run()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return ee.ExitCode(), nil
	}
	return 0, err
}
