// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is one that this supervisor did not start itself, or that may outlive
// what it started: a daemon's server, or what a dead supervisor left. It is held
// by a pidfd, which never comes to mean another process.
type process struct {
	pid int
	fd  *os.File
}

func openProcess(pid int) (process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return process{}, fmt.Errorf("open process %d: %w", pid, err)
	}
	return process{pid: pid, fd: os.NewFile(uintptr(fd), "pidfd")}, nil
}

func (p process) close() { _ = p.fd.Close() }

func (p process) signal(s unix.Signal) {
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return
	}
	// It fails when the process has ended, which is what is wanted.
	_ = raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), s, nil, 0) })
}

// wait returns nil when the process has ended, or an error when ctx has or the
// process was closed.
func (p process) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.fd.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := p.fd.SyscallConn()
	if err != nil {
		return err
	}
	// A pidfd is readable once its process has ended.
	return raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return err == nil && n > 0
	})
}

// marked returns the processes of the daemons in a directory, by the directory of
// each, for the caller to close. A container's process can carry the mark, too,
// and gets itself ended by that and nobody else.
func marked(within func(dir string) bool) (map[string][]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for processes: %w", err)
	}
	out := map[string][]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !within(markOf(pid)) {
			continue
		}
		p, err := openProcess(pid)
		if err != nil {
			continue
		}
		// Only now the number cannot be given to another process.
		if dir := markOf(pid); within(dir) {
			out[dir] = append(out[dir], p)
		} else {
			p.close()
		}
	}
	return out, nil
}

// markOf returns the directory of the daemon to which a process belongs, or "".
func markOf(pid int) string {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(raw, []byte{0}) {
		if dir, ok := bytes.CutPrefix(v, []byte(marker)); ok {
			return string(dir)
		}
	}
	return ""
}

// sweep ends what is left of a daemon's processes, and returns when they are gone.
func (p place) sweep() error {
	found, err := marked(func(dir string) bool { return dir == p.dir })
	if err != nil {
		return err
	}
	return endAll(found[p.dir], p.cfg.Quit)
}

// endAll asks processes to end and, half-way through patience, makes them. It
// closes them.
func endAll(all []process, patience time.Duration) error {
	defer func() {
		for _, p := range all {
			p.close()
		}
	}()
	gone := func(s unix.Signal) []string {
		ctx, cancel := context.WithTimeout(context.Background(), patience/2)
		defer cancel()
		for _, p := range all {
			p.signal(s)
		}
		var left []string
		for _, p := range all {
			if p.wait(ctx) != nil {
				left = append(left, strconv.Itoa(p.pid))
			}
		}
		return left
	}
	if len(all) == 0 || len(gone(unix.SIGTERM)) == 0 {
		return nil
	}
	for _, p := range all {
		_ = p.fd.SetReadDeadline(time.Time{})
	}
	if left := gone(unix.SIGKILL); len(left) > 0 {
		return fmt.Errorf("end what is left of it: process %s does not end within %s", strings.Join(left, ", "), patience)
	}
	return nil
}
