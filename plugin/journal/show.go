// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// Show writes what is in the journal file, one fact a line.
func Show(out io.Writer, path string) error {
	return with(path, func(j *Journal) error {
		recs, err := j.Claims()
		if err != nil {
			return err
		}
		for _, rec := range recs {
			var slots []string
			for _, h := range rec.Holds {
				slot := h.Slot
				if h.Admin {
					slot += " (admin)"
				}
				slots = append(slots, slot)
			}
			fmt.Fprintf(out, "claim  %s/%s  %s  %s  %s\n", rec.Namespace, rec.Name, rec.UID, rec.State, strings.Join(slots, " "))
		}
		fences, err := j.Fences()
		if err != nil {
			return err
		}
		for _, address := range slices.Sorted(maps.Keys(fences)) {
			fmt.Fprintf(out, "fence  %s  %s  %s\n", address, fences[address].Condition, fences[address].Why)
		}
		if why, err := j.Suspect(); err != nil {
			return err
		} else if why != "" {
			fmt.Fprintf(out, "held   every GPU  %s\n", why)
		}
		bad, err := j.Check()
		if err != nil {
			return err
		}
		for _, b := range bad {
			fmt.Fprintf(out, "wrong  %s\n", b)
		}
		fmt.Fprintf(out, "%d claims, %d fences, %d disagreements\n", len(recs), len(fences), len(bad))
		return nil
	})
}

// Clear gives back every GPU that is held or fenced, and drops what is in
// quarantine. It returns a line for each thing it did. The caller knows that
// nothing uses these GPUs.
func Clear(path string) ([]string, error) {
	var did []string
	err := with(path, func(j *Journal) error {
		return j.update(func(tx *bbolt.Tx) error {
			did = nil
			root := tx.Bucket(bucketRoot)
			if why := root.Get(keySuspect); why != nil {
				did = append(did, fmt.Sprintf("gave back every GPU: %s", why))
				if err := root.Delete(keySuspect); err != nil {
					return err
				}
			}
			for _, b := range []struct {
				name []byte
				line string
			}{{bucketFences, "gave back the GPU at %s"}, {bucketQuarantine, "dropped the unreadable record of claim %s"}} {
				keys, err := empty(sub(tx, b.name))
				if err != nil {
					return err
				}
				for _, k := range keys {
					did = append(did, fmt.Sprintf(b.line, k))
				}
			}
			return nil
		})
	})
	return did, err
}

func empty(b *bbolt.Bucket) ([]string, error) {
	var keys []string
	err := b.ForEach(func(k, _ []byte) error {
		keys = append(keys, string(k))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if err := b.Delete([]byte(k)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// with opens a file that was checked before.
func with(path string, f func(*Journal) error) error {
	j, _, err := Open(path, func(string) error { return nil }, time.Time{})
	if err != nil {
		return err
	}
	defer j.Close()
	return f(j)
}
