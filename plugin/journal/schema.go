// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"
)

// layout is the version of the stored forms. 2 added MIG: steps, facts, profiles
// and published slots. 3 added sharing: steps for settings and daemons, what they
// were, shared slots. Each reads those before it.
const layout = 3

var (
	bucketRoot       = []byte("v1")
	bucketClaims     = []byte("claims")
	bucketHolds      = []byte("holds")
	bucketNames      = []byte("names")
	bucketFences     = []byte("fences")
	bucketSlots      = []byte("slots")
	bucketQuarantine = []byte("quarantine")

	keyVersion = []byte("version")
	keyBoot    = []byte("boot")
	keyLoad    = []byte("driver-load")
	keySuspect = []byte("suspect")
)

// layOut makes the buckets of an empty file; on a file of an earlier layout it
// adds what is missing. A release that reads only that one refuses it from then
// on, rather than miss a step.
func layOut(tx *bbolt.Tx) error {
	root, err := tx.CreateBucketIfNotExists(bucketRoot)
	if err != nil {
		return err
	}
	for _, name := range [][]byte{bucketClaims, bucketHolds, bucketNames, bucketFences, bucketSlots, bucketQuarantine} {
		if _, err := root.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return root.Put(keyVersion, []byte(strconv.Itoa(layout)))
}

// checkLayout refuses what a newer release wrote.
func checkLayout(tx *bbolt.Tx) error {
	newer := ""
	err := tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		if !bytes.Equal(name, bucketRoot) {
			newer = string(name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if newer != "" {
		return fmt.Errorf("%w: it holds the layout %q, this release reads %q", ErrNewer, newer, bucketRoot)
	}
	root := tx.Bucket(bucketRoot)
	if root == nil {
		return nil
	}
	v, err := strconv.Atoi(string(root.Get(keyVersion)))
	if err != nil {
		return fmt.Errorf("layout version %q is not a number", root.Get(keyVersion))
	}
	if v > layout {
		return fmt.Errorf("%w: it has layout version %d, this release reads up to %d", ErrNewer, v, layout)
	}
	return nil
}

// sub returns a bucket of the root. It exists: Open laid it out.
func sub(tx *bbolt.Tx, name []byte) *bbolt.Bucket {
	return tx.Bucket(bucketRoot).Bucket(name)
}
