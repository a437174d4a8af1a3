// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// Era returns the era under which the journal was last written; both parts are
// empty in a new one.
func (j *Journal) Era() (sharing.Era, error) {
	var e sharing.Era
	err := j.db.View(func(tx *bbolt.Tx) error {
		root := tx.Bucket(bucketRoot)
		e = sharing.Era{Boot: string(root.Get(keyBoot)), Load: string(root.Get(keyLoad))}
		return nil
	})
	return e, err
}

// Turn begins a new era: it forgets the claims whose effects ended with the old
// one and notes the new ids, in one transaction.
func (j *Journal) Turn(e sharing.Era, forgotten []sharing.Record) error {
	return j.update(func(tx *bbolt.Tx) error {
		for _, rec := range forgotten {
			if err := forget(tx, rec.UID, nil); err != nil {
				return err
			}
		}
		root := tx.Bucket(bucketRoot)
		if err := root.Put(keyBoot, []byte(e.Boot)); err != nil {
			return err
		}
		return root.Put(keyLoad, []byte(e.Load))
	})
}

// Known returns the GPUs this node ever named, by PCI address, with their last
// known facts.
func (j *Journal) Known() (map[string]sharing.Known, error) {
	known := map[string]sharing.Known{}
	err := j.db.View(func(tx *bbolt.Tx) error {
		return sub(tx, bucketNames).ForEach(func(k, v []byte) error {
			g, err := decodeGPU(k, v)
			if err != nil {
				return err
			}
			known[string(k)] = g
			return nil
		})
	})
	return known, err
}

func decodeGPU(address, raw []byte) (sharing.Known, error) {
	var g storedGPU
	if err := json.Unmarshal(raw, &g); err != nil {
		return sharing.Known{}, fmt.Errorf("name of GPU %s: %w", address, err)
	}
	return sharing.Known{GPU: sharing.GPU(g.storedFacts), Boot: g.Boot}, nil
}

// Remember stores names and facts of GPUs.
func (j *Journal) Remember(gpus []sharing.Known) error {
	return j.update(func(tx *bbolt.Tx) error {
		for _, g := range gpus {
			raw, err := json.Marshal(storedGPU{storedFacts: storedFacts(g.GPU), Boot: g.Boot})
			if err != nil {
				return err
			}
			if err := sub(tx, bucketNames).Put([]byte(g.Address), raw); err != nil {
				return err
			}
		}
		return nil
	})
}

// Fences returns the GPUs that are set apart, by PCI address.
func (j *Journal) Fences() (map[string]sharing.Fence, error) {
	fences := map[string]sharing.Fence{}
	err := j.db.View(func(tx *bbolt.Tx) error {
		return sub(tx, bucketFences).ForEach(func(k, v []byte) error {
			var f storedFence
			if err := json.Unmarshal(v, &f); err != nil {
				return fmt.Errorf("fence of GPU %s: %w", k, err)
			}
			fences[string(k)] = sharing.Fence{Address: string(k), Condition: sharing.Condition(f.Condition), Why: f.Why}
			return nil
		})
	})
	return fences, err
}

// Unfence gives a GPU back.
func (j *Journal) Unfence(address string) error {
	return j.update(func(tx *bbolt.Tx) error { return sub(tx, bucketFences).Delete([]byte(address)) })
}

// Suspect returns why the whole node is held, or "".
func (j *Journal) Suspect() (string, error) {
	why := ""
	err := j.db.View(func(tx *bbolt.Tx) error {
		why = string(tx.Bucket(bucketRoot).Get(keySuspect))
		return nil
	})
	return why, err
}

// Trust ends the suspicion: in one transaction the mark goes and the GPUs that
// are still in doubt are fenced one by one.
func (j *Journal) Trust(fences ...sharing.Fence) error {
	return j.update(func(tx *bbolt.Tx) error {
		if err := putFences(tx, fences); err != nil {
			return err
		}
		return tx.Bucket(bucketRoot).Delete(keySuspect)
	})
}

func putFences(tx *bbolt.Tx, fences []sharing.Fence) error {
	for _, f := range fences {
		raw, err := json.Marshal(storedFence{Condition: string(f.Condition), Why: f.Why})
		if err != nil {
			return err
		}
		if err := sub(tx, bucketFences).Put([]byte(f.Address), raw); err != nil {
			return err
		}
	}
	return nil
}
