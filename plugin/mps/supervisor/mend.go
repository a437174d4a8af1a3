// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// settled is how long a daemon has to serve before the wait for its next start is
// the shortest again.
const settled = time.Minute

// broke shows that the daemon does not serve, and sets when and by what it is
// mended. Its server alone can be mended without it.
func (d *daemon) broke(ctx context.Context, err error, next phase) {
	now := time.Now()
	if d.lull = min(2*d.lull, d.cfg.AgainAtMost); d.lull == 0 || !d.up.IsZero() && now.Sub(d.up) > settled {
		d.lull = d.cfg.Again
	}
	d.up, d.wake, d.next, d.cause = time.Time{}, now.Add(d.lull), next, err.Error()
	d.restarts++
	d.dismiss()
	klog.FromContext(ctx).Error(err, "The daemon broke", "restarts", d.restarts, "again", d.lull)
	if err := d.records.put(d.id, record{Settings: d.settings, Restarts: d.restarts}); err != nil {
		klog.FromContext(ctx).Error(err, "The restart is not counted")
	}
	d.show(func(s *mps.State) {
		s.Ready, s.Why, s.Restarts, s.Clients = false, d.cause, d.restarts, 0
		if s.BrokenSince == nil {
			s.BrokenSince = &now
		}
	})
}

// rest waits before the daemon is mended.
func (d *daemon) rest(ctx context.Context) phase {
	var ended <-chan struct{}
	if d.child != nil && d.child.alive() {
		ended = d.child.done
	}
	select {
	case <-ctx.Done():
		_ = d.endProcesses()
		return nil
	case <-d.poke:
		return d.heed(ctx, d.rest)
	case <-ended:
		d.next, d.cause = d.start, d.child.ended().Error()
		d.show(func(s *mps.State) { s.Why = d.cause })
		return d.rest
	case <-time.After(time.Until(d.wake)):
		if d.child == nil || !d.child.alive() {
			return d.start
		}
		return d.next
	}
}

// revive gives a daemon that runs another server.
func (d *daemon) revive(ctx context.Context) phase {
	attempt, done := d.attempt(ctx)
	defer done()
	d.doing("start its server")
	err := d.serveAll(attempt)
	if err == nil {
		return d.serve
	}
	if attempt.Err() != nil && ctx.Err() == nil {
		return func(ctx context.Context) phase { return d.heed(ctx, d.revive) }
	}
	d.broke(ctx, errors.Join(err, d.endProcesses()), d.start)
	return d.rest
}
