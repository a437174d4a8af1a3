// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
)

// byOrder takes the first published device that fits: what the allocator does
// with a claim for one device, in a thousandth of its time. witness holds that
// against the allocator.
type byOrder struct {
	*board
	// order are the published partitions of each profile.
	order map[int][]slot
}

func newByOrder(t *table, p published) byOrder {
	b := byOrder{board: newBoard(t, gpus), order: map[int][]slot{}}
	for _, s := range p.slices {
		for _, d := range s.Spec.Devices {
			if at, ok := p.slots[d.Name]; ok {
				b.order[at.Profile] = append(b.order[at.Profile], at)
			}
		}
	}
	return b
}

func (b byOrder) place(_ context.Context, profile int) (slot, bool, error) {
	for _, s := range b.order[profile] {
		if b.fits(s) {
			return s, true, b.put(s)
		}
	}
	return slot{}, false, nil
}

func (b byOrder) release(s slot) { b.remove(s) }

// witness asks both, and it is an error when they do not decide alike.
type witness struct {
	allocator *allocator
	model     byOrder
}

func (w witness) place(ctx context.Context, profile int) (slot, bool, error) {
	want, room, err := w.allocator.place(ctx, profile)
	if err != nil {
		return slot{}, false, err
	}
	got, ok, err := w.model.place(ctx, profile)
	if err == nil && (got != want || ok != room) {
		err = fmt.Errorf("the allocator says %+v, %t; the first that fits is %+v, %t", want, room, got, ok)
	}
	return want, room, err
}

func (w witness) release(s slot) {
	w.allocator.release(s)
	w.model.release(s)
}
