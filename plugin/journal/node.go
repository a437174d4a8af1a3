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
			if err := forget(tx, sharing.Record{UID: rec.UID}, nil); err != nil {
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

// Remember stores names and facts of GPUs.
func (j *Journal) Remember(gpus []sharing.Known) error {
	return j.update(func(tx *bbolt.Tx) error {
		for _, g := range gpus {
			raw, err := json.Marshal(encodeGPU(g))
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

// Listed returns what is published of the GPUs, by PCI address.
func (j *Journal) Listed() (map[string][]sharing.Listed, error) {
	listed := map[string][]sharing.Listed{}
	err := j.db.View(func(tx *bbolt.Tx) error {
		return sub(tx, bucketSlots).ForEach(func(k, v []byte) error {
			var stored []storedSlot
			if err := json.Unmarshal(v, &stored); err != nil {
				return fmt.Errorf("published slots of GPU %s: %w", k, err)
			}
			for _, s := range stored {
				listed[string(k)] = append(listed[string(k)], s.decode())
			}
			return nil
		})
	})
	return listed, err
}

// List replaces what is published of the GPUs that are named, in one transaction.
func (j *Journal) List(slots map[string][]sharing.Listed) error {
	return j.update(func(tx *bbolt.Tx) error {
		for address, listed := range slots {
			var stored []storedSlot
			for _, l := range listed {
				stored = append(stored, encodeSlot(l))
			}
			raw, err := json.Marshal(stored)
			if err != nil {
				return err
			}
			if err := sub(tx, bucketSlots).Put([]byte(address), raw); err != nil {
				return err
			}
		}
		return nil
	})
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
		if f.Condition == sharing.Stuck && sub(tx, bucketFences).Get([]byte(f.Address)) != nil {
			continue // what is there sets the whole GPU apart
		}
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
