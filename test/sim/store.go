// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

// errUnrendered tells view that the driver root lags behind the state.
var errUnrendered = errors.New("the driver root is behind the state")

// view runs f on the state under a shared lock.
func (m *Machine) view(f func(*State) error) error {
	err := m.locked(unix.LOCK_SH, func() error {
		s, err := m.whole()
		if err != nil {
			return err
		}
		if fsroot.Rendered(m.path("root.json")) != s.Tree {
			return errUnrendered
		}
		s.prune()
		return f(s)
	})
	if !errors.Is(err, errUnrendered) {
		return err
	}
	// The writer died between its two effects; finish them in its place.
	return m.locked(unix.LOCK_EX, func() error {
		s, err := m.whole()
		if err != nil {
			return err
		}
		// Who may not write leaves that to the next who may, as any client does.
		if err := m.render(tree(s).Stamp()); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		s.prune()
		return f(s)
	})
}

// update runs f on the state under the exclusive lock and keeps the result,
// unless f fails: then nothing happened.
func (m *Machine) update(f func(*State) error) error {
	return m.locked(unix.LOCK_EX, func() error {
		s, err := m.read()
		if err != nil {
			return err
		}
		left, err := m.join(s)
		if err != nil {
			return err
		}
		if s.prune() || left {
			// How long it lingers counts from here, whatever f does.
			if err := m.commit(s); err != nil {
				return err
			}
		}
		if err := f(s); err != nil {
			return err
		}
		return m.commit(s)
	})
}

// commit makes s the machine. The lock is held.
func (m *Machine) commit(s *State) error {
	t := tree(s).Stamp()
	s.Tree = t.Stamp
	if err := s.check(); err != nil {
		return fmt.Errorf("the operation would break the machine: %w", err)
	}
	kept := s.part()
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := replace(m.path("state.json"), raw); err != nil {
		return err
	}
	m.remember(raw, kept)
	m.sweep(kept)
	return m.render(t)
}

// render makes the driver root equal to t. The lock is held.
func (m *Machine) render(t fsroot.Stamped) error {
	was := m.advance(t)
	if fsroot.Rendered(m.path("root.json")) == t.Stamp {
		return nil
	}
	return fsroot.Advance(fsroot.Paths{
		Root: m.Root(), Record: m.path("root.json"), Temp: m.path("root.tmp"), Past: m.path("loads"),
	}, was, t)
}

func (m *Machine) read() (*State, error) {
	raw, err := os.ReadFile(m.path("state.json"))
	if err != nil {
		return nil, err
	}
	if s, ok := m.recall(raw); ok {
		return s, nil
	}
	var s State
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", m.path("state.json"), err)
	}
	if s.Layout != stateLayout {
		return nil, fmt.Errorf("%s has layout %d, this program reads %d: create the machine again",
			m.path("state.json"), s.Layout, stateLayout)
	}
	m.remember(raw, &s)
	return &s, nil
}

// locked runs f holding the machine's lock. Every call opens the lock file
// anew: flock then also keeps the goroutines of one process apart. Reading it is
// enough for either kind of lock, so that any user may be a client.
func (m *Machine) locked(how int, f func() error) error {
	l, err := os.Open(m.path("lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no simulated machine in %s: make one with simctl create: %w", m.dir, err)
	}
	if err != nil {
		return err
	}
	defer l.Close()
	for {
		err = unix.Flock(int(l.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", l.Name(), err)
	}
	return f()
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return replace(path, b)
}

// replace replaces path whole. The temporary name is fixed, so that a killed
// writer leaves at most one file, which the next writer takes over. It is not
// synced: the page cache survives a kill, and a power cut ends the machine.
func replace(path string, b []byte) error {
	if err := os.WriteFile(path+".tmp", b, 0o644); err != nil {
		return err
	}
	return fsroot.Replace(path+".tmp", path)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}
