// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/cotenant-dev/cotenant/sharing"
)

// CheckFile looks at a journal file that nobody has open: its layout, every page
// of it, and every key. It may crash the process on a damaged file, so it is run
// in a child process.
func CheckFile(path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: openTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return ErrInUse
	}
	if err != nil {
		return fmt.Errorf("not a journal: %w", err)
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		if err := checkLayout(tx); err != nil {
			return err
		}
		// A file cut off inside its last pages maps as zeros there, which would
		// read as empty buckets. bbolt never leaves it shorter than its high-water
		// mark.
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.Size() < tx.Size() {
			return fmt.Errorf("truncated: it has %d bytes, its pages end at %d", info.Size(), tx.Size())
		}
		for err := range tx.Check() {
			return fmt.Errorf("inconsistent page: %w", err)
		}
		return walk(tx)
	})
}

// walk reads every key and value once, which a truncated file does not survive.
func walk(tx *bbolt.Tx) error {
	return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walkBucket(b) })
}

func walkBucket(b *bbolt.Bucket) error {
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			return walkBucket(b.Bucket(k))
		}
		touch(k)
		touch(v)
		return nil
	})
}

// touch reads every byte: one that is not there ends the process here.
func touch(b []byte) byte {
	var x byte
	for _, c := range b {
		x ^= c
	}
	return x
}

// Check proves that holds and claims agree. Each string names one disagreement.
func (j *Journal) Check() ([]string, error) {
	var bad []string
	err := j.db.View(func(tx *bbolt.Tx) error {
		var err error
		bad, err = disagreements(tx)
		return err
	})
	return bad, err
}

func disagreements(tx *bbolt.Tx) ([]string, error) {
	var bad []string
	want := map[string]bool{}
	err := sub(tx, bucketClaims).ForEach(func(k, v []byte) error {
		rec, err := decodeClaim(string(k), v)
		if err != nil {
			bad = append(bad, err.Error())
			return nil
		}
		for _, h := range rec.Holds {
			want[holdID(h)] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	indexed, err := allHolds(tx)
	if err != nil {
		return nil, err
	}
	for _, h := range indexed {
		if id := holdID(h); want[id] {
			delete(want, id)
		} else {
			bad = append(bad, fmt.Sprintf("hold %s belongs to no recorded claim", id))
		}
	}
	for id := range want {
		bad = append(bad, fmt.Sprintf("hold %s is recorded with its claim but not indexed", id))
	}
	return bad, nil
}

func allHolds(tx *bbolt.Tx) ([]sharing.Hold, error) {
	var holds []sharing.Hold
	b := sub(tx, bucketHolds)
	err := b.ForEachBucket(func(slot []byte) error {
		got, err := holdsOf(string(slot), b.Bucket(slot))
		holds = append(holds, got...)
		return err
	})
	return holds, err
}

func holdID(h sharing.Hold) string {
	return h.Slot + "/" + h.Claim + "/" + string(shareKey(h.Share))
}
