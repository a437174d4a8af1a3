// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// hangPoll is how soon a hanging call notices that its fault was cleared.
const hangPoll = 5 * time.Millisecond

func (m *Machine) faultsPath() string { return m.path("faults.json") }

func (m *Machine) readFaults() ([]Fault, error) {
	var all []Fault
	err := readJSON(m.faultsPath(), &all)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// editFaults replaces the list of faults by what f makes of it.
func (m *Machine) editFaults(f func([]Fault) ([]Fault, error)) error {
	return m.locked(unix.LOCK_EX, func() error {
		all, err := m.readFaults()
		if err != nil {
			return err
		}
		if all, err = f(all); err != nil {
			return err
		}
		if len(all) > 0 {
			return writeJSON(m.faultsPath(), all)
		}
		// The second is there after a kill.
		for _, path := range []string{m.faultsPath(), m.faultsPath() + ".tmp"} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// strike counts a call against the faults it matches and returns those that
// are due now, with gpu as the index of the GPU they strike.
func (m *Machine) strike(c Call) (due []Fault, gpu int, err error) {
	all, err := m.readFaults()
	if err != nil || len(all) == 0 {
		return nil, -1, err
	}
	gpu, err = m.indexOf(c.UUID)
	if err != nil {
		return nil, -1, err
	}
	exe := executable()
	hit := func(f Fault) bool { return f.matches(c, gpu, exe) }
	if !slices.ContainsFunc(all, hit) {
		return nil, gpu, nil
	}
	err = m.editFaults(func(now []Fault) ([]Fault, error) {
		for i := range now {
			if !hit(now[i]) {
				continue
			}
			now[i].Seen++
			if now[i].due() {
				now[i].Fired++
				due = append(due, now[i])
			}
		}
		return now, nil
	})
	return due, gpu, err
}

func (m *Machine) indexOf(uuid string) (int, error) {
	if uuid == "" {
		return -1, nil
	}
	s, err := m.State()
	if err != nil {
		return -1, err
	}
	return s.Index(uuid), nil
}

func (m *Machine) armed(id string) bool {
	all, err := m.readFaults()
	return err == nil && slices.ContainsFunc(all, func(f Fault) bool { return f.ID == id })
}

func executable() string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(exe)
}
