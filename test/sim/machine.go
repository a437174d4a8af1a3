// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Machine is a handle on a machine's directory. What it remembers only spares
// work: any number of handles, in any number of processes, are the same machine.
// It is safe for concurrent use.
type Machine struct {
	dir   string
	crash func()

	mu   sync.Mutex
	last remembered
}

// Option changes how one handle behaves; never the machine.
type Option func(*Machine)

// WithCrash replaces what a crash fault does. By default it kills the calling
// process with SIGKILL. A replacement must not return: it panics or calls
// runtime.Goexit, which the machine survives as it does the kill.
func WithCrash(crash func()) Option { return func(m *Machine) { m.crash = crash } }

// Create lays a new machine in dir, which must be missing or empty.
func Create(dir string, cfg Config) (*Machine, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("creating a machine in %s: %w", dir, err)
	}
	if err := emptyDir(dir); err != nil {
		return nil, err
	}
	s := &State{
		Layout: stateLayout, Driver: cfg.Driver, CUDA: cfg.CUDA, Seed: cfg.Seed,
		BootID: bootID(cfg.Seed, 1), Boots: 1, Load: 1, Options: cfg.options(),
	}
	for _, gc := range cfg.GPUs {
		if err := s.add(gc); err != nil {
			return nil, fmt.Errorf("creating a machine in %s: GPU %d: %w", dir, len(s.GPUs), err)
		}
	}
	m := newMachine(dir)
	if s.Bin, err = installBin(cfg.Bin, m.path("bin"), cfg.Driver); err != nil {
		return nil, fmt.Errorf("creating a machine in %s: %w", dir, err)
	}
	if err := m.begin(s); err != nil {
		return nil, fmt.Errorf("creating a machine in %s: %w", dir, err)
	}
	return m, nil
}

// begin writes the first state of a machine.
func (m *Machine) begin(s *State) error {
	if err := m.makeClientDir(); err != nil {
		return err
	}
	l, err := os.OpenFile(m.path("lock"), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	return m.locked(unix.LOCK_EX, func() error { return m.commit(s) })
}

// Open opens the machine in dir. It renders what a killed process may have left
// unrendered in the driver root.
func Open(dir string, opts ...Option) (*Machine, error) {
	m := newMachine(dir)
	for _, o := range opts {
		o(m)
	}
	if _, err := m.State(); err != nil {
		return nil, fmt.Errorf("opening the machine in %s: %w", dir, err)
	}
	return m, nil
}

func newMachine(dir string) *Machine { return &Machine{dir: dir, crash: killSelf} }

// Dir is the machine's directory.
func (m *Machine) Dir() string { return m.dir }

// Root is the driver root: what a node's / would be, with the driver's dev,
// proc, sys and usr in it.
func (m *Machine) Root() string { return m.path("root") }

// State is the machine at this instant, without the processes that have ended.
func (m *Machine) State() (State, error) {
	var out State
	err := m.view(func(s *State) error { out = *s; return nil })
	return out, err
}

func (m *Machine) path(name string) string { return filepath.Join(m.dir, name) }

func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another directory, or open the machine that is there", dir)
	}
	return nil
}

// killSelf ends this process as a power cut would: no deferred call runs.
func killSelf() {
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}
