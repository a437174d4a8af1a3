// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"slices"
	"sync"
)

// locks serialises work per GPU. They are taken in the order of the PCI
// addresses, so that claims over several GPUs cannot wait for each other.
type locks struct {
	mu  sync.Mutex
	gpu map[string]chan struct{} // full while it is taken
}

// take locks the GPUs and returns what unlocks them. Who is canceled while waiting
// gets none of them, and its error.
func (l *locks) take(ctx context.Context, addresses []string) (func(), error) {
	var held []chan struct{}
	unlock := func() {
		for _, c := range held {
			<-c
		}
	}
	for _, a := range slices.Compact(slices.Sorted(slices.Values(addresses))) {
		c := l.of(a)
		select {
		case c <- struct{}{}:
			held = append(held, c)
			continue
		default:
			doing(ctx, "waiting for another claim on the GPU at "+a)
		}
		select {
		case c <- struct{}{}:
			held = append(held, c)
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		}
	}
	return unlock, nil
}

func (l *locks) of(address string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gpu == nil {
		l.gpu = map[string]chan struct{}{}
	}
	c := l.gpu[address]
	if c == nil {
		c = make(chan struct{}, 1)
		l.gpu[address] = c
	}
	return c
}
