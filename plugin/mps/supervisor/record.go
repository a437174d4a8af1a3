// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// layout is the version of the state file. A later one is refused; fields may be
// added to it without a new one.
const layout = 1

const (
	stateName = "daemons.json"
	lockName  = "lock"
)

// record is what is remembered of a daemon that is wanted, or was.
type record struct {
	Settings mps.Settings `json:"settings"`
	// Stopping: it is no longer wanted, and not yet gone.
	Stopping bool `json:"stopping,omitempty"`
	Restarts int  `json:"restarts,omitempty"`
}

// state is the state file.
type state struct {
	Version int `json:"version"`
	// Paused says why no daemon runs, or "".
	Paused  string            `json:"paused,omitempty"`
	Daemons map[string]record `json:"daemons"`
}

// records is the state file and what stands in it.
type records struct {
	path string

	mu sync.Mutex
	st state
}

// openRecords reads the file. One that is damaged is set aside, and note says so.
func openRecords(root string, now time.Time) (r *records, note string, err error) {
	r = &records{path: filepath.Join(root, stateName), st: state{Version: layout, Daemons: map[string]record{}}}
	raw, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read what daemons are wanted: %w", err)
	}
	st, err := parseState(root, raw)
	if errors.Is(err, errNewer) {
		return nil, "", fmt.Errorf("%s: %w", r.path, err)
	}
	if err == nil {
		r.st = st
		return r, "", nil
	}
	aside := r.path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	if err := os.Rename(r.path, aside); err != nil {
		return nil, "", fmt.Errorf("set a damaged state file aside: %w", err)
	}
	return r, fmt.Sprintf("%s was damaged (%v) and is set aside as %s; which daemons ran is not known until they are asked for again", r.path, err, aside), nil
}

var errNewer = errors.New("written by a newer release; run that one, or stop every daemon and remove the file")

func parseState(root string, raw []byte) (state, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return state{}, err
	}
	if head.Version > layout {
		return state{}, fmt.Errorf("layout %d: %w", head.Version, errNewer)
	}
	if head.Version != layout {
		return state{}, fmt.Errorf("layout %d", head.Version)
	}
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return state{}, err
	}
	for id, r := range st.Daemons {
		if err := mps.CheckID(root, id); err != nil {
			return state{}, err
		}
		// What is being stopped may never have had any.
		if err := r.Settings.Check(); err != nil && !r.Stopping {
			return state{}, err
		}
	}
	if st.Daemons == nil {
		st.Daemons = map[string]record{}
	}
	return st, nil
}

func (r *records) paused() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.Paused
}

func (r *records) all() map[string]record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.st.Daemons)
}

func (r *records) put(id string, rec record) error {
	return r.change(func(st *state) { st.Daemons[id] = rec })
}

func (r *records) forget(id string) error {
	return r.change(func(st *state) { delete(st.Daemons, id) })
}

func (r *records) pause(why string) error {
	return r.change(func(st *state) { st.Paused = why })
}

// change is on disk when it returns nil, and has not happened when it does not.
func (r *records) change(f func(*state)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.st
	next.Daemons = maps.Clone(r.st.Daemons)
	f(&next)
	raw, err := json.Marshal(next)
	if err == nil {
		err = replace(r.path, raw)
	}
	if err != nil {
		return fmt.Errorf("note what daemons are wanted: %w", err)
	}
	r.st = next
	return nil
}

// replace writes a file that is whole at any instant.
func replace(path string, raw []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	return err
}
