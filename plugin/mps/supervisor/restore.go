// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// restore starts what an earlier supervisor ran, and ends what it ran and is not
// wanted.
func (s *Supervisor) restore(ctx context.Context) {
	wanted := s.records.all()
	known := map[string]bool{}
	for id, rec := range wanted {
		d := s.daemon(id)
		known[d.dir] = true
		d.settings, d.served, d.restarts, d.cause = rec.Settings, true, rec.Restarts+1, "the supervisor was started anew"
		now := time.Now()
		d.shown = mps.State{Settings: rec.Settings, Why: d.cause, BrokenSince: &now, Restarts: d.restarts}
		first := d.start
		if rec.Stopping {
			first, d.leaving, d.ending = d.goOn, true, true
		}
		s.mu.Lock()
		s.launch(d, first)
		s.mu.Unlock()
	}
	strays, err := marked(func(dir string) bool { return dir != "" && within(dir, s.cfg.Root) && !known[dir] })
	if err != nil {
		klog.FromContext(ctx).Error(err, "Daemons that are not wanted may be left")
	}
	for dir, all := range strays {
		klog.FromContext(ctx).Info("Ending a daemon that is not wanted", "dir", dir, "processes", len(all))
		s.running.Go(func() {
			if err := endAll(all, s.cfg.Quit); err != nil {
				klog.FromContext(ctx).Error(err, "A daemon that is not wanted is left", "dir", dir)
			}
		})
	}
}

// daemon makes one that nothing is known of.
func (s *Supervisor) daemon(id string) *daemon {
	d := &daemon{place: s.cfg.place(id), records: s.records, board: s.board, poke: make(chan struct{}, 1)}
	d.leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.daemons[id] == d {
			delete(s.daemons, id)
		}
	}
	return d
}

// launch lets a daemon run. s.mu is held.
func (s *Supervisor) launch(d *daemon, first phase) {
	s.daemons[d.id] = d
	ctx := s.live
	s.running.Go(func() { d.run(ctx, first) })
	s.board.bump()
}
