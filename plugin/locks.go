// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"sync"
)

// locks serialises work per GPU. They are taken in the order of the PCI
// addresses, so that claims over several GPUs cannot wait for each other.
type locks struct {
	mu  sync.Mutex
	gpu map[string]*sync.Mutex
}

// take locks the GPUs and returns what unlocks them.
func (l *locks) take(addresses []string) func() {
	sorted := slices.Compact(slices.Sorted(slices.Values(addresses)))
	held := make([]*sync.Mutex, 0, len(sorted))
	for _, a := range sorted {
		m := l.of(a)
		m.Lock()
		held = append(held, m)
	}
	return func() {
		for _, m := range held {
			m.Unlock()
		}
	}
}

func (l *locks) of(address string) *sync.Mutex {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gpu == nil {
		l.gpu = map[string]*sync.Mutex{}
	}
	m := l.gpu[address]
	if m == nil {
		m = &sync.Mutex{}
		l.gpu[address] = m
	}
	return m
}
