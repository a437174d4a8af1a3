// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// daemons is the supervisor of a node's MPS control daemons, as its client shows it:
// it keeps what is wanted, outlives the plugin, and its servers are processes on the
// simulated GPUs. The supervisor itself is tested in plugin/mps.
type daemons struct {
	t       *testing.T
	machine *sim.Machine

	mu  sync.Mutex
	sup sharing.Supervision
	// wanted are the daemons, starts and stops how often each was started and ended.
	wanted        map[string]sharing.Daemon
	starts, stops map[string]int
	// silent daemons are started and never serve, until they are let go.
	silent map[string]chan struct{}
	// fails is what the start of any daemon fails with, busy what its end does.
	fails, busy error
	watchers    map[int]chan struct{}
	serial      int
}

func newDaemons(t *testing.T, m *sim.Machine) *daemons {
	return &daemons{
		t: t, machine: m, sup: sharing.Supervision{Up: true, MultiUser: true, Version: "test"},
		wanted: map[string]sharing.Daemon{}, starts: map[string]int{}, stops: map[string]int{},
		silent: map[string]chan struct{}{}, watchers: map[int]chan struct{}{},
	}
}

// changed tells the watchers. d.mu is held.
func (d *daemons) changed() {
	for _, w := range d.watchers {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (d *daemons) Watch(ctx context.Context, changed func(sharing.Supervision)) {
	news := make(chan struct{}, 1)
	news <- struct{}{}
	d.mu.Lock()
	d.serial++
	me := d.serial
	d.watchers[me] = news
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, me)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
		d.mu.Lock()
		now := d.sup
		now.Daemons = maps.Clone(d.sup.Daemons)
		d.mu.Unlock()
		changed(now)
	}
}

// hang has daemons of this ID never serve from now on, and returns what lets them.
func (d *daemons) hang(id string) func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	d.silent[id] = c
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.silent, id)
		close(c)
	}
}

// set changes how the supervisor is.
func (d *daemons) set(f func(*daemons)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
	d.changed()
}

func (d *daemons) state(id string, s sharing.DaemonState) {
	d.sup.Daemons = maps.Clone(d.sup.Daemons)
	if d.sup.Daemons == nil {
		d.sup.Daemons = map[string]sharing.DaemonState{}
	}
	d.sup.Daemons[id] = s
	d.changed()
}

func (d *daemons) Ensure(ctx context.Context, want sharing.Daemon) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.sup.Up {
		return api.Errorf(api.Unavailable, "cotenant-mps does not answer: %s", d.sup.Why)
	}
	if d.fails != nil {
		return d.fails
	}
	have, there := d.wanted[want.ID]
	if there && !cmp.Equal(have, want) {
		return api.Errorf(api.Invalid, "daemon %s runs with other settings: %+v, not %+v", want.ID, have, want)
	}
	if !there {
		d.wanted[want.ID] = want
		d.starts[want.ID]++
		d.state(want.ID, sharing.DaemonState{Why: "it is started"})
	}
	if quiet := d.silent[want.ID]; quiet != nil {
		d.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-quiet:
		case <-time.After(20 * time.Millisecond): // the supervisor keeps nobody waiting for longer than it likes
		}
		d.mu.Lock()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("it does not serve yet: %w", err)
		}
		if d.silent[want.ID] != nil {
			return api.Errorf(api.Pending, "daemon %s does not serve yet", want.ID)
		}
	}
	if _, still := d.wanted[want.ID]; !still {
		return api.Errorf(api.Canceled, "it was stopped meanwhile")
	}
	if s := d.sup.Daemons[want.ID]; !s.Ready {
		d.state(want.ID, sharing.DaemonState{Ready: true, Restarts: s.Restarts})
		return d.serve(want)
	}
	return nil
}

// serve puts the daemon's server on its GPUs.
func (d *daemons) serve(want sharing.Daemon) error {
	s, err := d.machine.State()
	if err != nil {
		return err
	}
	for i, g := range s.GPUs {
		if slices.Contains(want.UUIDs, g.UUID) {
			err := d.machine.AddProcess(sim.Process{PID: 9000 + i, GPU: i, Virtual: true, Name: "nvidia-cuda-mps-server"})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *daemons) Stop(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.sup.Up {
		return api.Errorf(api.Unavailable, "cotenant-mps does not answer: %s", d.sup.Why)
	}
	want, there := d.wanted[id]
	if !there {
		return nil
	}
	if d.busy != nil {
		return d.busy
	}
	d.stops[id]++
	delete(d.wanted, id)
	all := maps.Clone(d.sup.Daemons)
	delete(all, id)
	d.sup.Daemons = all
	d.changed()
	s, err := d.machine.State()
	if err != nil {
		return err
	}
	for i, g := range s.GPUs {
		if slices.Contains(want.UUIDs, g.UUID) {
			_ = d.machine.KillProcess(9000 + i) // one that never served has none
		}
	}
	return nil
}

// kill ends a daemon as a signal does; it serves again when it is restored.
func (d *daemons) kill(id, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state(id, sharing.DaemonState{BrokenSince: 1796000000, Why: why, Restarts: d.sup.Daemons[id].Restarts + 1})
}

func (d *daemons) restore(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.sup.Daemons[id]
	d.state(id, sharing.DaemonState{Ready: true, Why: was.Why, Restarts: was.Restarts})
}

// running are the daemons that are wanted, with their limits.
func (d *daemons) running() map[string]sharing.Daemon {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.wanted)
}

// counted is how often daemons were started and stopped.
func (d *daemons) counted() (started, stopped int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.starts {
		started += n
	}
	for _, n := range d.stops {
		stopped += n
	}
	return started, stopped
}
