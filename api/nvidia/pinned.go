// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"maps"
	"slices"
	"strconv"

	"github.com/cotenant-dev/cotenant/api"
)

// PinnedLimit is the memory that a client may have on one device of a daemon.
type PinnedLimit struct {
	// Position is the device's among the sorted UUIDs, from 0.
	Position int
	MiB      int64
}

// Pinned returns the limits of the devices of one daemon, in the order of their
// positions; a device without a limit is left out. totalMiB is the memory of
// each device by UUID; of one that is missing it is not known how much it has.
//
// Every error has the reason Invalid. Which one is returned does not depend on
// anything but the arguments.
func (m MPS) Pinned(uuids []string, totalMiB map[string]int64) ([]PinnedLimit, error) {
	sorted := slices.Sorted(slices.Values(uuids))
	limits := map[int]Limit{}
	if m.Memory != nil {
		if err := m.Memory.enough(); err != nil {
			return nil, err
		}
		for position := range sorted {
			limits[position] = *m.Memory
		}
	}
	named := map[int]string{}
	for _, key := range slices.Sorted(maps.Keys(m.PerDevice)) {
		position, err := positionOf(key, sorted)
		if err != nil {
			return nil, err
		}
		l := m.PerDevice[key]
		if err := l.enough(); err != nil {
			return nil, err
		}
		if first, twice := named[position]; twice && l.MiB != limits[position].MiB {
			return nil, api.Errorf(api.Invalid, "invalid device: %s and %s are one device with two limits; keep one", shown(first), shown(key))
		}
		named[position], limits[position] = key, l
	}
	return inOrder(sorted, limits, totalMiB)
}

func inOrder(sorted []string, limits map[int]Limit, totalMiB map[string]int64) ([]PinnedLimit, error) {
	var out []PinnedLimit
	for position, uuid := range sorted {
		l, limited := limits[position]
		if !limited {
			continue
		}
		if total, known := totalMiB[uuid]; known && l.MiB > total {
			return nil, api.Errorf(api.Invalid, "invalid limit: value set too high: %s is more than the %d MiB of %s", shown(l.Quantity), total, uuid)
		}
		out = append(out, PinnedLimit{Position: position, MiB: l.MiB})
	}
	return out, nil
}

func (l Limit) enough() error {
	if l.MiB < 1 {
		return api.Errorf(api.Invalid, "invalid limit: value set too low: %s is less than 1Mi", shown(l.Quantity))
	}
	return nil
}

// positionOf finds the device that a key names. "00" is no other spelling of 0:
// a key means one thing.
func positionOf(key string, sorted []string) (int, error) {
	if position := slices.Index(sorted, key); position >= 0 {
		return position, nil
	}
	n, err := strconv.Atoi(key)
	if err != nil || strconv.Itoa(n) != key || n < 0 || n >= len(sorted) {
		return 0, api.Errorf(api.Invalid, "invalid device: %s; name it by its position, 0 to %d, or by its UUID", shown(key), len(sorted)-1)
	}
	return n, nil
}
