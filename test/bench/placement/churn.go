// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"container/heap"
	"context"
	"fmt"
)

// warmUp is how long claims come before anything is counted: after so many mean
// stays what the node holds depends no more on that it was empty.
const warmUp = 5.0

// packer decides where claims go. It remembers what it placed.
type packer interface {
	// place finds a slot for one instance of a profile; false when there is none.
	place(ctx context.Context, profile int) (slot, bool, error)
	// release ends what was placed.
	release(slot)
}

// outcome is what became of the claims.
type outcome struct {
	offered, accepted map[int]int // claims, by profile ID
	// memory is the part of all GPUs' memory that was held, over time.
	memory float64
}

// churn lets the claims come and go. A claim that finds no room is turned away.
// It keeps a board of its own, and it is an error when the packer hands out what
// does not fit there or turns away what does.
func churn(ctx context.Context, t *table, gpus int, claims []claim, p packer) (outcome, error) {
	c := &churning{packer: p, board: newBoard(t, gpus), out: outcome{offered: map[int]int{}, accepted: map[int]int{}}}
	for _, claim := range claims {
		c.advance(claim.at)
		if err := c.arrive(ctx, claim); err != nil {
			return outcome{}, fmt.Errorf("profile %d at time %.3f: %w", claim.profile, claim.at, err)
		}
	}
	c.out.memory /= (c.now - warmUp) * float64(gpus)
	return c.out, nil
}

type churning struct {
	packer  packer
	board   *board
	leaving departures
	now     float64
	held    float64 // memory of all that is live, in GPUs
	out     outcome
}

// advance goes on to a time, and lets go who leaves until then.
func (c *churning) advance(to float64) {
	for len(c.leaving) > 0 && c.leaving[0].at <= to {
		d := heap.Pop(&c.leaving).(departure)
		c.pass(d.at)
		c.packer.release(d.slot)
		c.board.remove(d.slot)
		c.held -= c.board.memory(d.Profile)
	}
	c.pass(to)
}

// pass adds up the memory held until a time.
func (c *churning) pass(to float64) {
	if counted := to - max(c.now, warmUp); counted > 0 {
		c.out.memory += c.held * counted
	}
	c.now = to
}

func (c *churning) arrive(ctx context.Context, claim claim) error {
	counts := 0
	if claim.at >= warmUp {
		counts = 1
	}
	c.out.offered[claim.profile] += counts
	s, ok, err := c.packer.place(ctx, claim.profile)
	if err != nil {
		return err
	}
	if !ok {
		if room := c.board.room(claim.profile); len(room) > 0 {
			return fmt.Errorf("turned away, though there is room at %d of GPU %d", room[0].Start, room[0].gpu)
		}
		return nil
	}
	if s.Profile != claim.profile {
		return fmt.Errorf("got an instance of profile %d", s.Profile)
	}
	if err := c.board.put(s); err != nil {
		return err
	}
	c.out.accepted[claim.profile] += counts
	c.held += c.board.memory(claim.profile)
	heap.Push(&c.leaving, departure{at: claim.at + claim.stays, slot: s})
	return nil
}

// departure is when a placed claim leaves.
type departure struct {
	at float64
	slot
}

// departures is a heap, the next to leave first.
type departures []departure

func (d departures) Len() int           { return len(d) }
func (d departures) Less(i, j int) bool { return d[i].at < d[j].at }
func (d departures) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *departures) Push(x any)        { *d = append(*d, x.(departure)) }
func (d *departures) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}
