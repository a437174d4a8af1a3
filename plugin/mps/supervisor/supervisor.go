// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// Supervisor runs the daemons that are wanted.
type Supervisor struct {
	cfg     Config
	lock    *os.File
	records *records
	board   *board
	notes   []string

	mu      sync.Mutex
	daemons map[string]*daemon
	// live is the context of the daemons; nil before Run and after its end.
	live    context.Context
	running sync.WaitGroup
}

// New prepares the root for a supervisor, which is then the only one there.
func New(cfg Config) (*Supervisor, error) {
	cfg.Patience = cfg.orStandard()
	for _, d := range []string{cfg.Root, cfg.Logs, filepath.Dir(cfg.Socket)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("make the directory %s: %w", d, err)
		}
	}
	// mountinfo has paths without links.
	for _, d := range []*string{&cfg.Root, &cfg.Logs} {
		full, err := filepath.EvalSymlinks(*d)
		if err == nil {
			err = directory(full)
		}
		if err != nil {
			return nil, fmt.Errorf("use the directory %s: %w", *d, err)
		}
		*d = full
	}
	lock, err := os.OpenFile(filepath.Join(cfg.Root, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", cfg.Root, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w; another supervisor is running there", cfg.Root, err), lock.Close())
	}
	s := &Supervisor{cfg: cfg, lock: lock, board: newBoard(rand.Text()[:8]), daemons: map[string]*daemon{}}
	var note string
	if s.records, note, err = openRecords(cfg.Root, time.Now()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if note != "" {
		s.notes = append(s.notes, note)
	}
	return s, nil
}

// Run restores the daemons that are wanted and serves until ctx ends; then it ends
// them, and they stay wanted. Their directories stay as they are: containers have
// them mounted.
func (s *Supervisor) Run(ctx context.Context) error {
	log := klog.FromContext(ctx)
	for _, n := range s.notes {
		log.Error(nil, "An operator should know", "note", n)
	}
	live, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.mu.Lock()
	s.live = live
	s.mu.Unlock()
	s.restore(ctx)
	go s.watchAbility(live)
	err := s.listen(ctx)
	s.mu.Lock()
	s.live = nil
	s.mu.Unlock()
	end()
	s.running.Wait()
	return errors.Join(err, s.lock.Close())
}
