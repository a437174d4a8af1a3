// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Daemon is a program to start in the background.
type Daemon struct {
	Dir  string // the cluster's run directory, for the mark
	Part string // what it is there, for the mark
	Log  string // file that its output is appended to
	Args []string
	Env  []string // beyond the orchestrator's own
	// Files are passed as descriptors 3, 4, ….
	Files []*os.File
	// NewNamespaces are flags as CLONE_NEWNET, for the process itself.
	NewNamespaces uintptr
	// In runs it in the namespaces of another process; nil in the caller's.
	In *Namespaces
}

// Running is a daemon that this process started.
type Running struct {
	Process
	Log  string
	done chan struct{}
	err  error
}

// Start starts the daemon in a session of its own, so that it outlives the
// orchestrator and no terminal signal reaches it.
func (d Daemon) Start() (*Running, error) {
	log, err := os.OpenFile(d.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", d.Part, err)
	}
	defer log.Close()
	args := d.Args
	if d.In != nil {
		args = d.In.Command(args)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(append(os.Environ(), d.Env...), Mark(d.Dir, d.Part)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = d.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: d.NewNamespaces}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", d.Part, err)
	}
	r := &Running{Log: d.Log, done: make(chan struct{})}
	r.Process, _ = readProcess(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid)), cmd.Process.Pid)
	r.PID, r.Dir, r.Part = cmd.Process.Pid, d.Dir, d.Part
	go func() {
		r.err = cmd.Wait()
		close(r.done)
	}()
	return r, nil
}

// Done is closed when the daemon has ended, which it never should by itself.
func (r *Running) Done() <-chan struct{} { return r.done }

// Failure describes, once Done is closed, how the daemon ended and what it said
// last.
func (r *Running) Failure() error {
	how := "exit status 0"
	if r.err != nil {
		how = r.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s); the end of %s:\n%s", r.Part, how, r.Log, Tail(r.Log, 20))
}

// Tail returns the last lines of a file, of at most 64 KiB; or why it cannot.
func Tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const limit = 64 << 10
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		if _, err := f.Seek(-limit, io.SeekEnd); err != nil {
			return err.Error()
		}
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
