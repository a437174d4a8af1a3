// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "slices"

// Listed is a slot that is published, as the journal keeps it.
type Listed struct {
	Slot
	// Retiring is when it ceased to be offered, in seconds since 1970; 0 while it
	// is offered. A retiring slot stays published, tainted, until nobody has it:
	// the allocator counts used hardware from what is published now.
	Retiring int64
	// Asked is when claims were last looked through for it.
	Asked int64
}

// Patience are the times of the retiring protocol, in seconds. A claim may have
// been allocated before the taint was seen and its allocation be written after it.
type Patience struct {
	// Wait is longer than a scheduling cycle and a bind.
	Wait int64
	// Again is between two looks through all claims for one slot.
	Again int64
}

// Turnover returns what of a GPU is published from now on: what is offered, and
// what was published before and may still be somebody's. New slots that are
// partly the hardware of a retiring one wait for it where that cannot be
// expressed; so do those for which there is no room.
func Turnover(listed []Listed, offered []Slot, can Abilities, now int64) []Listed {
	old := map[string]Listed{}
	for _, l := range listed {
		old[l.Name] = l
	}
	stays := map[string]bool{}
	for _, s := range offered {
		l, known := old[s.Name]
		stays[s.Name] = known && l.sameAs(s)
	}
	var out, retiring []Listed
	staying := 0
	for _, l := range listed {
		if stays[l.Name] {
			staying++
			continue
		}
		if l.Retiring == 0 {
			l.Retiring = now
		}
		retiring = append(retiring, l)
	}
	room := maxDevices - staying - len(retiring)
	for _, s := range offered {
		if !stays[s.Name] {
			if room <= 0 || !mayCome(s, retiring, can) {
				continue
			}
			room--
		}
		out = append(out, Listed{Slot: s})
	}
	return append(out, retiring...)
}

// mayCome says whether a new slot can be published now: nothing that retires has
// its name, and nothing that retires is the same hardware where that cannot be
// expressed.
func mayCome(s Slot, retiring []Listed, can Abilities) bool {
	return !slices.ContainsFunc(retiring, func(l Listed) bool {
		return l.Name == s.Name || !can.Partitions && l.overlaps(s) // it would hide both
	})
}

// visible are the slots that are published. Without counters every device looks
// independent of the others: then those that share hardware with another one that
// is listed are kept back until that one is withdrawn, and shared slots always.
func visible(listed []Listed, can Abilities) []Listed {
	if can.Partitions {
		return listed
	}
	var out []Listed
	for i, l := range listed {
		alone := !l.onDemand() && l.Shared == nil
		for j, other := range listed {
			alone = alone && (i == j || !l.overlaps(other.Slot))
		}
		if alone {
			out = append(out, l)
		}
	}
	return out
}

// Due returns the names of the retiring slots for which claims are to be looked
// through now.
func Due(listed []Listed, now int64, p Patience) []string {
	var out []string
	for _, l := range listed {
		waited := now-l.Retiring >= p.Wait
		again := l.Asked < l.Retiring || now-l.Asked >= p.Again
		if l.Retiring != 0 && waited && again {
			out = append(out, l.Name)
		}
	}
	return out
}

// Withdraw returns the slots without those that were due and that nobody has;
// had names those that a claim was allocated or holds, and now is when the claims
// began to be looked through: what has retired since was not looked for.
func Withdraw(listed []Listed, due []string, had map[string]bool, now int64) []Listed {
	var out []Listed
	for _, l := range listed {
		if l.Retiring != 0 && l.Retiring < now && slices.Contains(due, l.Name) {
			if !had[l.Name] {
				continue
			}
			l.Asked = now
		}
		out = append(out, l)
	}
	return out
}
