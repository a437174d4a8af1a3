// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Client is a process's own part of the machine: what it has on GPUs, kept in a
// file of its own for as long as it lives.
//
// Such a process may be any user in any container: it changes nothing but its
// own file. It holds a lock on the file that the kernel takes away when it ends,
// however it ends, so that everybody knows at once, in every PID namespace. It is
// safe for concurrent use.
type Client struct {
	m *Machine
	f *os.File

	mu    sync.Mutex
	entry Entry
}

// Entry is what a client's file holds.
type Entry struct {
	PID      int    `json:"pid"`
	PIDSpace string `json:"pidSpace"`
	// Processes are on GPUs, each with a Context of its own, which never comes
	// back in this file.
	Processes []Process  `json:"processes,omitempty"`
	Daemon    *MPSDaemon `json:"daemon,omitempty"`
	Server    *MPSServer `json:"server,omitempty"`
}

// clientDir is where everybody may make files of their own, as in /tmp.
const clientDir = "clients"

func (m *Machine) makeClientDir() error {
	dir := m.path(clientDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777|os.ModeSticky)
}

// Enter makes this process a client of the machine that has nothing yet.
func (m *Machine) Enter() (*Client, error) {
	c := &Client{m: m}
	// Under the machine's lock nobody takes the new file for one left behind.
	err := m.locked(unix.LOCK_EX, func() (err error) {
		if c.f, err = os.CreateTemp(m.path(clientDir), ""); err != nil {
			return err
		}
		// The others read it, whatever this process's mask says.
		if err := c.f.Chmod(0o644); err != nil {
			return err
		}
		if err := unix.Flock(int(c.f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			return err
		}
		return c.write(Entry{PID: os.Getpid(), PIDSpace: pidSpace()})
	})
	if err != nil {
		return nil, fmt.Errorf("becoming a client of the machine in %s: %w", m.dir, err)
	}
	return c, nil
}

// Change runs f on the state, this client's own part included, and on that part,
// which is kept unless f fails. Nobody changes the machine meanwhile, so f may call
// no method of a Machine. What f does to the state is forgotten.
func (c *Client) Change(f func(*State, *Entry) error) error {
	return c.m.locked(unix.LOCK_EX, func() error {
		s, err := c.m.whole()
		if err != nil {
			return err
		}
		e := c.has()
		if err := f(s, &e); err != nil {
			return err
		}
		return c.write(e)
	})
}

// write replaces the content of the file. A reader comes after it, or after the
// death of this process, when only what was there before counts.
func (c *Client) write(e Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := c.f.WriteAt(b, 0); err != nil {
		return err
	}
	if err := c.f.Truncate(int64(len(b))); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entry = e
	return nil
}

// has is what the client last wrote.
func (c *Client) has() Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entry
	e.Processes = slices.Clone(e.Processes)
	return e
}

// ID names the client in Process.Client.
func (c *Client) ID() string { return filepath.Base(c.f.Name()) }

// Has reports whether the machine has this client's process of that context.
func (c *Client) Has(s *State, context int) bool {
	return slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Client == c.ID() && p.Context == context })
}

// Missing are the client's processes that the machine has no more: the GPU was
// lost, somebody else ended them, or the machine rebooted.
func (c *Client) Missing(s *State) []Process {
	return slices.DeleteFunc(c.has().Processes, func(p Process) bool { return c.Has(s, p.Context) })
}

// Gone reports whether all of this client has ended, as in a reboot.
func (c *Client) Gone(s *State) bool {
	return slices.Contains(s.Ended, ClientPart{Client: c.ID()})
}

// Leave ends what the client has. The file stays for whoever changes the machine
// next, to whom it tells what has ended.
func (c *Client) Leave() error { return c.f.Close() }

// readEntry reads a client's file. What cannot be read is nothing: any user may
// have put it there.
func readEntry(path string) (e Entry, alive bool, inode uint64) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return Entry{}, false, 0
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return Entry{}, false, 0
	}
	inode = info.Sys().(*syscall.Stat_t).Ino
	alive = errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
	if err := json.NewDecoder(f).Decode(&e); err != nil {
		return Entry{}, alive, inode
	}
	return e, alive, inode
}
