// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

var (
	// ErrInUse is returned when another process holds the journal open.
	ErrInUse = errors.New("the journal is in use")
	// ErrNewer is returned for a file that a newer release wrote. It is left
	// untouched: go back to that release, or drain the node and delete the file.
	ErrNewer = errors.New("the journal was written by a newer release")
)

// Checker says whether a journal file can be opened. It must look at the file
// from another process. [ErrNewer] and [ErrInUse] pass through [Open]; any other
// error means that the file is damaged.
type Checker func(path string) error

// Damage says that an earlier journal was set aside at this start.
type Damage struct {
	Path string // where it lies now
	Why  error
}

// Journal is the open file.
type Journal struct {
	db     *bbolt.DB
	commit chan op
	done   chan struct{}
}

// openTimeout bounds the wait for the file lock. A second instance does not
// wait: the first holds the lock for its life.
const openTimeout = 100 * time.Millisecond

// Open opens the journal at path, and creates it, mode 0600, if there is none.
//
// A file that check refuses is renamed to "<path>.damaged-<time>" and a fresh
// journal takes its place that is marked suspect from its first transaction on:
// no instant exists at which a crash would make lost records look like an empty
// node. Damage is then not nil.
func Open(path string, check Checker, now time.Time) (*Journal, *Damage, error) {
	if err := finishReplacement(path); err != nil {
		return nil, nil, err
	}
	damage, err := setAsideIfDamaged(path, check, now)
	if err != nil {
		return nil, nil, err
	}
	db, err := openFile(path)
	if err != nil {
		return nil, damage, err
	}
	j := &Journal{db: db, commit: make(chan op), done: make(chan struct{})}
	go j.committer()
	return j, damage, nil
}

// Close writes what is being written and lets go of the file. No call may
// follow.
func (j *Journal) Close() error {
	close(j.commit)
	<-j.done
	return j.db.Close()
}

func openFile(path string) (*bbolt.DB, error) {
	// The list of free pages is rebuilt at the next open instead of being written
	// with every commit; the file is small.
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: openTimeout, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w by another process: %s; one node runs one cotenant-plugin", ErrInUse, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the journal %s: %w", path, err)
	}
	if err := db.Update(layOut); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("lay out the journal %s: %w", path, err)
	}
	return db, nil
}

// fresh is where the successor of a damaged journal is made before it takes its
// place.
func fresh(path string) string { return path + ".new" }

// finishReplacement completes a replacement that was cut off between its two
// renames.
func finishReplacement(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err := os.Rename(fresh(path), path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("put the fresh journal in place: %w", err)
	}
	return nil
}

func setAsideIfDamaged(path string, check Checker, now time.Time) (*Damage, error) {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err := lockFree(path); err != nil {
		return nil, err
	}
	why := check(path)
	if why == nil {
		return nil, nil
	}
	if errors.Is(why, ErrNewer) || errors.Is(why, ErrInUse) {
		return nil, fmt.Errorf("%s: %w", path, why)
	}
	aside := fmt.Sprintf("%s.damaged-%s", path, now.UTC().Format("20060102T150405.000"))
	if err := replace(path, aside, why); err != nil {
		return nil, err
	}
	return &Damage{Path: aside, Why: why}, nil
}

// replace makes the suspect successor, then swaps it in by two renames.
func replace(path, aside string, why error) error {
	_ = os.Remove(fresh(path)) // of an attempt that did not get to its renames
	db, err := openFile(fresh(path))
	if err != nil {
		return err
	}
	reason := fmt.Sprintf("its records were lost: %v; the damaged file is %s", why, filepath.Base(aside))
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketRoot).Put(keySuspect, []byte(reason))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make the fresh journal: %w", err)
	}
	if err := os.Rename(path, aside); err != nil {
		return fmt.Errorf("set the damaged journal aside: %w", err)
	}
	if err := os.Rename(fresh(path), path); err != nil {
		return fmt.Errorf("put the fresh journal in place: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// lockFree tells a second instance apart from a damaged file before the check
// looks at it.
func lockFree(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%w by another process: %s; one node runs one cotenant-plugin", ErrInUse, path)
	}
	if err != nil {
		return fmt.Errorf("lock the journal %s: %w", path, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
