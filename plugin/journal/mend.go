// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// Mend takes out of the way what cannot be read, so that the rest of the node is
// served: such a record goes to quarantine and the GPUs it held are fenced; a
// hold that no record accounts for fences its GPU; a hold that is missing from
// the index is added. It returns a sentence for each thing it did.
//
// GPUs are found through their names. What held a slot that no GPU is known by
// cannot be tied to one: the whole node is then suspect.
func (j *Journal) Mend() ([]string, error) {
	var did []string
	err := j.update(func(tx *bbolt.Tx) error {
		did = nil
		m := mender{tx: tx}
		if err := m.run(); err != nil {
			return err
		}
		did = m.did
		return nil
	})
	return did, err
}

type mender struct {
	tx  *bbolt.Tx
	did []string
}

func (m *mender) run() error {
	recs, unreadable, err := m.sort()
	if err != nil {
		return err
	}
	for uid, raw := range unreadable {
		if err := m.quarantine(uid, raw); err != nil {
			return err
		}
	}
	return m.reindex(recs)
}

// sort separates the records that can be read from those that cannot.
func (m *mender) sort() ([]sharing.Record, map[string][]byte, error) {
	var recs []sharing.Record
	unreadable := map[string][]byte{}
	err := sub(m.tx, bucketClaims).ForEach(func(k, v []byte) error {
		rec, err := decodeClaim(string(k), v)
		if err != nil {
			unreadable[string(k)] = append([]byte(nil), v...)
			return nil
		}
		recs = append(recs, rec)
		return nil
	})
	return recs, unreadable, err
}

func (m *mender) quarantine(uid string, raw []byte) error {
	if err := sub(m.tx, bucketQuarantine).Put([]byte(uid), raw); err != nil {
		return err
	}
	if err := sub(m.tx, bucketClaims).Delete([]byte(uid)); err != nil {
		return err
	}
	m.did = append(m.did, fmt.Sprintf("the record of claim %s cannot be read and is quarantined", uid))
	holds, err := m.indexed()
	if err != nil {
		return err
	}
	tied := false
	for _, h := range holds {
		if h.Claim == uid {
			tied = true
		}
	}
	if !tied {
		return m.suspect(fmt.Sprintf("the record of claim %s cannot be read, and nothing tells which GPU it had", uid))
	}
	return nil // its holds have no record now: reindex fences their GPUs
}

// reindex makes the index agree with the records.
func (m *mender) reindex(recs []sharing.Record) error {
	holds, err := m.indexed()
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, h := range holds {
		have[holdID(h)] = true
	}
	want := map[string]bool{}
	for _, rec := range recs {
		for _, h := range rec.Holds {
			want[holdID(h)] = true
			if !have[holdID(h)] {
				m.did = append(m.did, fmt.Sprintf("hold %s was missing from the index", holdID(h)))
				if err := putHolds(m.tx, rec); err != nil {
					return err
				}
			}
		}
	}
	for _, h := range holds {
		if want[holdID(h)] {
			continue
		}
		if err := dropHolds(m.tx, sharing.Record{UID: h.Claim, Holds: []sharing.Hold{h}}); err != nil {
			return err
		}
		if err := m.fence(h); err != nil {
			return err
		}
	}
	return nil
}

// indexed returns the holds of the index. A hold whose value cannot be read
// counts: its key says all that matters.
func (m *mender) indexed() ([]sharing.Hold, error) {
	var holds []sharing.Hold
	root := sub(m.tx, bucketHolds)
	err := root.ForEachBucket(func(slot []byte) error {
		return root.Bucket(slot).ForEachBucket(func(uid []byte) error {
			return root.Bucket(slot).Bucket(uid).ForEach(func(share, _ []byte) error {
				holds = append(holds, sharing.Hold{Slot: string(slot), Claim: string(uid), Share: shareOf(share)})
				return nil
			})
		})
	})
	return holds, err
}

func (m *mender) fence(h sharing.Hold) error {
	why := fmt.Sprintf("claim %s held it and its record cannot be read", h.Claim)
	found := ""
	err := sub(m.tx, bucketNames).ForEach(func(address, raw []byte) error {
		if g, err := decodeGPU(address, raw); err == nil && g.Name == sharing.GPUOf(h.Slot) {
			found = string(address)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found == "" {
		return m.suspect(why)
	}
	m.did = append(m.did, fmt.Sprintf("%s is held: %s", h.Slot, why))
	return putFences(m.tx, []sharing.Fence{{Address: found, Condition: sharing.Held, Why: why}})
}

func (m *mender) suspect(why string) error {
	m.did = append(m.did, "every GPU of the node is held: "+why)
	return m.tx.Bucket(bucketRoot).Put(keySuspect, []byte(why))
}
