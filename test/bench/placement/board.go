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
	i, ok := b.index[s.Partition]
	if !ok || !b.fitting[b.live[s.gpu]].has(i) {
		return fmt.Errorf("profile %d at %d of GPU %d does not fit beside what is live there", s.Profile, s.Start, s.gpu)
	}
	b.live[s.gpu] = b.live[s.gpu].with(i)
	return nil
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

// keeps is how many placements of larger profiles the GPU of the slot loses, or
// rather how many fewer it has left, once the slot is live.
func (b *board) loses(s slot) int {
	before := b.live[s.gpu]
	after := before.with(b.index[s.Partition])
	larger := b.larger[s.Profile]
	return (b.fitting[before] & larger).len() - (b.fitting[after] & larger).len()
}
