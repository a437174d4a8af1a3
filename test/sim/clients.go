// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ClientPart is one context of a client, or a client with all it has.
type ClientPart struct {
	Client  string `json:"client"`
	Context int    `json:"context,omitempty"` // 0 for all of it
}

// whole reads the state with what its clients have. The machine's lock is held.
func (m *Machine) whole() (*State, error) {
	s, err := m.read()
	if err != nil {
		return nil, err
	}
	_, err = m.join(s)
	return s, err
}

// join adds to s what its clients have, and reports whether a process is newly
// found to have ended.
func (m *Machine) join(s *State) (bool, error) {
	files, err := os.ReadDir(m.path(clientDir))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return false, err
	}
	there := func(e ClientPart) bool {
		return slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == e.Client })
	}
	s.Ended = slices.DeleteFunc(s.Ended, func(e ClientPart) bool { return !there(e) })
	var gone []Process
	for _, f := range files {
		e, alive, inode := readEntry(filepath.Join(m.path(clientDir), f.Name()))
		if slices.Contains(s.Ended, ClientPart{Client: f.Name()}) {
			continue
		}
		if alive && e.PIDSpace != pidSpace() {
			e.translate(inode)
		}
		if alive {
			s.enter(f.Name(), e)
			continue
		}
		gone = append(gone, s.admit(f.Name(), e)...)
		s.Ended = append(s.Ended, ClientPart{Client: f.Name()})
	}
	for _, p := range gone {
		s.linger(p)
		s.vacate(p.UUID)
	}
	return len(gone) > 0, nil
}

// admit is what of a client's file can be so: any user may have written it.
func (s *State) admit(client string, e Entry) []Process {
	var out []Process
	for _, p := range e.Processes {
		p.Client, p.PIDSpace, p.Virtual, p.StartTime = client, e.PIDSpace, false, 0
		g := s.GPU(p.UUID)
		if g != nil && p.Context > 0 && !slices.Contains(s.Ended, ClientPart{client, p.Context}) && s.checkProcess(p, g) == nil {
			out = append(out, p)
		}
	}
	return out
}

// enter adds a living client.
func (s *State) enter(client string, e Entry) {
	s.Clients = append(s.Clients, client)
	for _, p := range s.admit(client, e) {
		if p.MemoryMiB <= s.freeMiB(place{s.GPU(p.UUID), p.GI, p.CI}) {
			s.Contexts = append(s.Contexts, ClientPart{client, p.Context})
			s.Processes = append(s.Processes, p)
		}
	}
	if e.Daemon != nil {
		d := *e.Daemon
		d.Client, d.PID = client, e.PID
		s.Daemons = append(s.Daemons, d)
	}
	if e.Server != nil {
		srv := *e.Server
		srv.Client, srv.PID = client, e.PID
		s.Servers = append(s.Servers, srv)
	}
}

// translate gives the owner of the file the PID that it has in this PID
// namespace, where it has one: the kernel shows who holds a lock.
func (e *Entry) translate(inode uint64) {
	pid, ok := lockHolder(inode)
	if !ok {
		return
	}
	for i := range e.Processes {
		if e.Processes[i].PID == e.PID {
			e.Processes[i].PID = pid
		}
	}
	e.PID = pid
}

// lockHolder is who holds a lock on the file with the inode, see proc_locks(5).
func lockHolder(inode uint64) (pid int, ok bool) {
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	suffix := ":" + strconv.FormatUint(inode, 10)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		field := strings.Fields(lines.Text())
		if len(field) == 8 && field[1] == "FLOCK" && strings.HasSuffix(field[5], suffix) {
			pid, err := strconv.Atoi(field[4])
			return pid, err == nil && pid > 0
		}
	}
	return 0, false
}

// part takes from s what its clients have, as state.json is without them, and
// notes what of it an operation has ended. It returns the state to keep.
func (s *State) part() *State {
	kept := *s
	kept.Ended = slices.Clone(s.Ended)
	for _, was := range s.Contexts {
		if !slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Client == was.Client && p.Context == was.Context }) &&
			!slices.Contains(kept.Ended, ClientPart{Client: was.Client}) && !slices.Contains(kept.Ended, was) {
			kept.Ended = append(kept.Ended, was)
		}
	}
	kept.Processes = slices.DeleteFunc(slices.Clone(s.Processes), func(p Process) bool { return p.Client != "" })
	kept.Daemons, kept.Servers, kept.Clients, kept.Contexts = nil, nil, nil, nil
	return &kept
}

// endClients ends all clients, as a reboot does.
func (s *State) endClients() {
	for _, client := range s.Clients {
		s.Ended = append(s.Ended, ClientPart{Client: client})
	}
	s.Daemons, s.Servers, s.Clients, s.Contexts = nil, nil, nil, nil
}

// sweep removes the files of clients that have ended, where this user may: the
// others stay noted in s. The machine's lock is held, and s is kept.
func (m *Machine) sweep(s *State) {
	for _, e := range s.Ended {
		path := filepath.Join(m.path(clientDir), e.Client)
		if e.Context != 0 {
			continue
		}
		if _, alive, _ := readEntry(path); !alive {
			_ = os.Remove(path) // not this user's: noted as ended
		}
	}
}
