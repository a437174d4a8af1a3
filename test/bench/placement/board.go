// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"github.com/cotenant-dev/cotenant/mig"
)

// slot is a partition of one of the node's GPUs.
type slot struct {
	gpu int
	mig.Partition
}

// board is a node: what is live on each of its GPUs.
type board struct {
	*table
	live []layout
}

func newBoard(t *table, gpus int) *board {
	return &board{table: t, live: make([]layout, gpus)}
}

// put makes a partition live. It is an error when it does not fit.
func (b *board) put(s slot) error {
	if !b.fits(s) {
		return fmt.Errorf("profile %d at %d of GPU %d does not fit beside what is live there", s.Profile, s.Start, s.gpu)
	}
	b.live[s.gpu] = b.live[s.gpu].with(b.index[s.Partition])
	return nil
}

func (b *board) fits(s slot) bool {
	i, ok := b.index[s.Partition]
	return ok && b.fitting[b.live[s.gpu]].has(i)
}

// remove ends a live partition.
func (b *board) remove(s slot) {
	b.live[s.gpu] = b.live[s.gpu].without(b.index[s.Partition])
}

// room are the free slots for a profile: GPU by GPU, in the order offered.
func (b *board) room(profile int) []slot {
	var out []slot
	for gpu, l := range b.live {
		free := b.fitting[l] & b.of[profile]
		for i, p := range b.partitions {
			if free.has(i) {
				out = append(out, slot{gpu, p})
			}
		}
	}
	return out
}

// loses is how many placements of larger profiles the slot's GPU has room for now
// and not once the slot is live.
func (b *board) loses(s slot) int {
	before := b.live[s.gpu]
	after := before.with(b.index[s.Partition])
	larger := b.larger[s.Profile]
	return (b.fitting[before] & larger).len() - (b.fitting[after] & larger).len()
}
