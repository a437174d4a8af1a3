// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"context"
	"slices"
)

// bestFit places a claim where it costs the fewest of the larger placements, of
// equals on the first GPU and there at the start offered first.
type bestFit struct{ *board }

func (b bestFit) place(_ context.Context, profile int) (slot, bool, error) {
	room := b.room(profile)
	if len(room) == 0 {
		return slot{}, false, nil
	}
	s := slices.MinFunc(room, func(x, y slot) int { return cmp.Compare(b.loses(x), b.loses(y)) })
	return s, true, b.put(s)
}

func (b bestFit) release(s slot) { b.remove(s) }
