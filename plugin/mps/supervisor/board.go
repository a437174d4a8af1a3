// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"strconv"
	"sync"
)

// board tells whoever waits that something changed.
type board struct {
	instance string

	mu      sync.Mutex
	n       uint64
	changed chan struct{}
}

func newBoard(instance string) *board {
	return &board{instance: instance, changed: make(chan struct{})}
}

func (b *board) bump() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	close(b.changed)
	b.changed = make(chan struct{})
}

// now returns the revision, and what is closed when there is a later one. What is
// read after the call is at least as new as the revision.
func (b *board) now() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.instance + "-" + strconv.FormatUint(b.n, 10), b.changed
}
