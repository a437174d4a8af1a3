// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/api"
)

// A supervisor is killed at some moment of a start, and the next one at some moment
// of a stop. Whatever they had got to, the one after it has what is wanted, once.
func TestKilledAtAnyMoment(t *testing.T) {
	n := newNode(t)
	d := n.quarter()
	for moment := time.Duration(0); moment < 250*time.Millisecond; moment += 50 * time.Millisecond {
		kill := func(work func()) {
			t.Helper()
			p := n.process()
			done := make(chan struct{})
			go func() {
				defer close(done)
				work()
			}()
			time.Sleep(moment) // the moment is what is tried
			ok(t, p.Process.Kill())
			_ = p.Wait() // it was killed
			<-done
		}
		kill(func() { _ = n.client.Ensure(t.Context(), d) })  // which may fail: it is killed
		kill(func() { _ = n.client.Stop(t.Context(), d.ID) }) // likewise
		last := n.process()
		n.ensure(d)
		n.serves(d)
		n.mountedOnce()
		ok(t, n.client.Stop(t.Context(), d.ID))
		n.nothingLeft(d.ID)
		n.nothingRuns()
		ok(t, last.Process.Kill())
		_ = last.Wait() // it was killed
	}
}

func (n *node) mountedOnce() {
	n.t.Helper()
	all, err := mounts()
	ok(n.t, err)
	seen := map[string]bool{}
	for _, m := range all {
		if strings.HasPrefix(m.source, source) && seen[m.point] {
			n.t.Errorf("%s is mounted twice", m.point)
		}
		seen[m.point] = true
	}
}

// Many ask for the same few daemons and stop them, all at the same time. Each is
// answered, and in the end there is what was asked for last.
func TestEverybodyAtOnce(t *testing.T) {
	n := newNode(t)
	n.start()
	d, other := n.quarter(), n.quarter()
	other.ID, other.UUIDs = "gpu-1-quarter-4f2a", n.uuids[1:]
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			which := d
			if i%2 == 0 {
				which = other
			}
			for j := range 3 {
				if (i+j)%3 == 0 {
					if err := n.client.Stop(t.Context(), which.ID); err != nil {
						t.Error(err)
					}
				} else if err := n.client.Ensure(t.Context(), which); err != nil && api.ReasonOf(err) != api.Canceled {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n.ensure(d)
	n.ensure(other)
	n.serves(d)
	n.mountedOnce()
	for _, which := range []string{d.ID, other.ID} {
		ok(t, n.client.Stop(t.Context(), which))
	}
	n.nothingLeft(d.ID)
	n.nothingLeft(other.ID)
}
