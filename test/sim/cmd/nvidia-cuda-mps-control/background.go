// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// readyVariable tells a daemon that -d started to say on file descriptor 3 that it
// is ready.
const readyVariable = "COTENANT_SIM_MPS_READY"

const readyWord = "ready"

// background starts the daemon in a session of its own and waits until it is ready.
func background(argv []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	args := slices.DeleteFunc(slices.Clone(argv), func(a string) bool { return a == "-d" })
	cmd := exec.Command(exe, append([]string{"-f"}, args...)...)
	cmd.Env = append(os.Environ(), readyVariable+"=1")
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return err
	}
	word, err := io.ReadAll(io.LimitReader(r, int64(len(readyWord))))
	if err == nil && string(word) == readyWord {
		return cmd.Process.Release()
	}
	err = cmd.Wait()
	return fmt.Errorf("the daemon did not come up, control.log says why: %w", err)
}

// sayReady tells the process that waits for the daemon, when there is one.
func sayReady() {
	if os.Getenv(readyVariable) == "" {
		return
	}
	f := os.NewFile(3, "ready")
	_, _ = f.WriteString(readyWord) // nobody waits any more
	_ = f.Close()
}
