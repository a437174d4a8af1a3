// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Handle is one process that can be signalled and waited for without the danger
// that its id has been given to another.
type Handle struct {
	Process
	fd int
}

// Open takes hold of a process. It returns false if that process has ended.
func Open(p Process) (*Handle, bool, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("take hold of process %d (needs Linux 5.3): %w", p.PID, err)
	}
	// Now the id cannot be reused any more; if it was before, the start differs.
	now, ok := readProcess(filepath.Join("/proc", strconv.Itoa(p.PID)), p.PID)
	if !ok || now.Start != p.Start {
		unix.Close(fd)
		return nil, false, nil
	}
	return &Handle{Process: p, fd: fd}, true, nil
}

// Close lets go of the process, which goes on.
func (h *Handle) Close() { unix.Close(h.fd) }

// Signal sends a signal. A process that has ended is no error.
func (h *Handle) Signal(sig unix.Signal) error {
	if err := unix.PidfdSendSignal(h.fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d (%s): %w", h.PID, h.Part, err)
	}
	return nil
}

// Wait returns true when the process has ended, false at the deadline.
func (h *Handle) Wait(deadline time.Time) (bool, error) {
	for {
		left := max(time.Until(deadline).Milliseconds(), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(left))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("wait for process %d (%s): %w", h.PID, h.Part, err)
		}
		return n > 0, nil
	}
}

// Terminate asks the process to end, and kills it if it has not within grace.
func Terminate(p Process, grace time.Duration) error {
	h, ok, err := Open(p)
	if err != nil || !ok {
		return err
	}
	defer h.Close()
	if err := h.Signal(unix.SIGTERM); err != nil {
		return err
	}
	if ended, err := h.Wait(time.Now().Add(grace)); err != nil || ended {
		return err
	}
	return kill(h)
}

// killWait is how long a killed process may take to end: it ends at once unless
// it is inside a system call that cannot be interrupted.
const killWait = 20 * time.Second

func kill(h *Handle) error {
	if err := h.Signal(unix.SIGKILL); err != nil {
		return err
	}
	ended, err := h.Wait(time.Now().Add(killWait))
	if err == nil && !ended {
		err = fmt.Errorf("process %d (%s) is still there %s after SIGKILL: look at /proc/%d/stack", h.PID, h.Part, killWait, h.PID)
	}
	return err
}

// KillAll kills what find returns, and what it returns then, until it returns
// nothing: a process may have started another between the look and the kill.
func KillAll(find func() (Table, error)) error {
	for range 100 {
		table, err := find()
		if err != nil {
			return err
		}
		table = table.Without(os.Getpid())
		if len(table) == 0 {
			return nil
		}
		if err := killTable(table); err != nil {
			return err
		}
	}
	return errors.New("processes come back as fast as they are killed; something outside the cluster starts them")
}

func killTable(table Table) error {
	var handles []*Handle
	defer func() {
		for _, h := range handles {
			h.Close()
		}
	}()
	for _, p := range table {
		h, ok, err := Open(p)
		if err != nil {
			return err
		}
		if ok {
			handles = append(handles, h)
		}
	}
	// All signals first: a supervisor must not see its child die and restart it.
	for _, h := range handles {
		if err := h.Signal(unix.SIGKILL); err != nil {
			return err
		}
	}
	for _, h := range handles {
		if err := kill(h); err != nil {
			return err
		}
	}
	return nil
}
