// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// Claim returns the record of a claim, or false when there is none.
func (j *Journal) Claim(uid string) (sharing.Record, bool, error) {
	var rec sharing.Record
	found := false
	err := j.db.View(func(tx *bbolt.Tx) error {
		raw := sub(tx, bucketClaims).Get([]byte(uid))
		if raw == nil {
			return nil
		}
		found = true
		var err error
		rec, err = decodeClaim(uid, raw)
		return err
	})
	return rec, found && err == nil, err
}

// Claims returns every record, in the order of the UIDs.
func (j *Journal) Claims() ([]sharing.Record, error) {
	var recs []sharing.Record
	err := j.db.View(func(tx *bbolt.Tx) error {
		return sub(tx, bucketClaims).ForEach(func(k, v []byte) error {
			rec, err := decodeClaim(string(k), v)
			if err != nil {
				return err
			}
			recs = append(recs, rec)
			return nil
		})
	})
	return recs, err
}

// Holds returns who holds the GPUs with these names or any part of them, in the
// order of the names.
func (j *Journal) Holds(gpus ...string) ([]sharing.Hold, error) {
	var holds []sharing.Hold
	err := j.db.View(func(tx *bbolt.Tx) error {
		all := sub(tx, bucketHolds)
		for _, gpu := range slices.Compact(slices.Sorted(slices.Values(gpus))) {
			slots := []string{gpu}
			prefix := []byte(gpu + "-")
			c := all.Cursor()
			for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
				slots = append(slots, string(k))
			}
			for _, slot := range slots {
				b := all.Bucket([]byte(slot))
				if b == nil {
					continue
				}
				got, err := holdsOf(slot, b)
				if err != nil {
					return err
				}
				holds = append(holds, got...)
			}
		}
		return nil
	})
	return holds, err
}

func holdsOf(slot string, b *bbolt.Bucket) ([]sharing.Hold, error) {
	var holds []sharing.Hold
	err := b.ForEachBucket(func(uid []byte) error {
		return b.Bucket(uid).ForEach(func(share, raw []byte) error {
			var v storedHolder
			if err := json.Unmarshal(raw, &v); err != nil {
				return fmt.Errorf("hold of claim %s on %s: %w", uid, slot, err)
			}
			holds = append(holds, sharing.Hold{Slot: slot, Claim: string(uid), Share: shareOf(share), Namespace: v.Namespace, Name: v.Name, Admin: v.Admin, Found: v.Found})
			return nil
		})
	})
	return holds, err
}

// Put stores the record and its holds in one transaction, replacing what was
// recorded for the claim.
func (j *Journal) Put(rec sharing.Record) error {
	return j.update(func(tx *bbolt.Tx) error { return put(tx, rec) })
}

func put(tx *bbolt.Tx, rec sharing.Record) error {
	old, err := recorded(tx, rec.UID)
	if err != nil {
		return err
	}
	raw, err := encodeClaim(rec)
	if err != nil {
		return err
	}
	if !sameHolds(old.Holds, rec.Holds) {
		if err := dropHolds(tx, old); err != nil {
			return err
		}
		if err := putHolds(tx, rec); err != nil {
			return err
		}
	}
	return sub(tx, bucketClaims).Put([]byte(rec.UID), raw)
}

// Forget removes the record of a claim and its holds, and sets up the fences, in
// one transaction. A claim that is not recorded is no error. What is still owed
// takes the record's place.
func (j *Journal) Forget(owed sharing.Record, fences ...sharing.Fence) error {
	return j.update(func(tx *bbolt.Tx) error { return forget(tx, owed, fences) })
}

func forget(tx *bbolt.Tx, owed sharing.Record, fences []sharing.Fence) error {
	if err := putFences(tx, fences); err != nil {
		return err
	}
	if len(owed.Steps) > 0 {
		return put(tx, owed)
	}
	old, err := recorded(tx, owed.UID)
	if err != nil {
		return err
	}
	if err := dropHolds(tx, old); err != nil {
		return err
	}
	return sub(tx, bucketClaims).Delete([]byte(owed.UID))
}

func recorded(tx *bbolt.Tx, uid string) (sharing.Record, error) {
	raw := sub(tx, bucketClaims).Get([]byte(uid))
	if raw == nil {
		return sharing.Record{UID: uid}, nil
	}
	return decodeClaim(uid, raw)
}

func putHolds(tx *bbolt.Tx, rec sharing.Record) error {
	for _, h := range rec.Holds {
		slot, err := sub(tx, bucketHolds).CreateBucketIfNotExists([]byte(h.Slot))
		if err != nil {
			return err
		}
		claim, err := slot.CreateBucketIfNotExists([]byte(rec.UID))
		if err != nil {
			return err
		}
		raw, err := json.Marshal(storedHolder{Namespace: rec.Namespace, Name: rec.Name, Admin: h.Admin, Found: h.Found})
		if err != nil {
			return err
		}
		if err := claim.Put(shareKey(h.Share), raw); err != nil {
			return err
		}
	}
	return nil
}

func dropHolds(tx *bbolt.Tx, rec sharing.Record) error {
	for _, h := range rec.Holds {
		slot := sub(tx, bucketHolds).Bucket([]byte(h.Slot))
		if slot == nil || slot.Bucket([]byte(rec.UID)) == nil {
			continue
		}
		if err := slot.DeleteBucket([]byte(rec.UID)); err != nil {
			return err
		}
	}
	return nil
}

func sameHolds(a, b []sharing.Hold) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// whole is the share key of a hold on a device that is not shared: bbolt has no
// empty keys.
const whole = "-"

func shareKey(share string) []byte {
	if share == "" {
		return []byte(whole)
	}
	return []byte(share)
}

func shareOf(key []byte) string {
	if string(key) == whole {
		return ""
	}
	return string(key)
}
