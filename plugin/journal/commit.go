// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"go.etcd.io/bbolt"
)

// op is one caller's change, run inside a transaction.
type op struct {
	apply func(*bbolt.Tx) error
	done  chan error
}

// update runs apply durably: when it returns nil the change is on disk. Callers
// that arrive while a commit is being written share the next one, so that a
// burst of claims costs a few syncs, not two for each.
func (j *Journal) update(apply func(*bbolt.Tx) error) error {
	o := op{apply: apply, done: make(chan error, 1)}
	j.commit <- o
	return <-o.done
}

// maxBatch bounds how many changes share a transaction.
const maxBatch = 64

func (j *Journal) committer() {
	defer close(j.done)
	for first := range j.commit {
		j.commitBatch(j.gather(first))
	}
}

// gather takes the callers that are waiting now, without waiting for more.
func (j *Journal) gather(first op) []op {
	batch := []op{first}
	for len(batch) < maxBatch {
		select {
		case o, open := <-j.commit:
			if !open {
				return batch
			}
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// commitBatch tries all changes in one transaction. If one of them fails nobody
// pays for it but its caller: each then gets a transaction of its own.
func (j *Journal) commitBatch(batch []op) {
	err := j.db.Update(func(tx *bbolt.Tx) error {
		for _, o := range batch {
			if err := o.apply(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, o := range batch {
		if err == nil || len(batch) == 1 {
			o.done <- err
			continue
		}
		o.done <- j.db.Update(o.apply)
	}
}
