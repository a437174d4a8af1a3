// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// start brings the daemon up. One that never served and fails is done away with,
// and its failure is the answer.
func (d *daemon) start(ctx context.Context) phase {
	if why := d.records.paused(); why != "" {
		return d.held
	}
	attempt, done := d.attempt(ctx)
	defer done()
	err := d.bringUp(attempt)
	if err == nil {
		return d.serve
	}
	interrupted := attempt.Err() != nil
	err = errors.Join(err, d.endProcesses())
	switch {
	case ctx.Err() != nil:
		return nil
	case interrupted:
		return func(ctx context.Context) phase { return d.heed(ctx, d.start) }
	case !d.served:
		return d.giveUp(ctx, err)
	}
	d.broke(ctx, err, d.start)
	return d.rest
}

// bringUp takes the steps to a daemon that serves.
func (d *daemon) bringUp(ctx context.Context) error {
	if err := d.records.put(d.id, record{Settings: d.settings, Restarts: d.restarts}); err != nil {
		return err
	}
	prog, err := findProgram(d.cfg.DriverRoot)
	if err != nil {
		return fmt.Errorf("find the control program: %w", err)
	}
	if d.exists() {
		d.doing("end what is left of it")
		if err := d.sweep(); err != nil {
			return err
		}
	}
	d.doing("make its directories")
	if err := errors.Join(d.make(), ctx.Err()); err != nil {
		return err
	}
	if err := d.clean(); err != nil {
		return err
	}
	d.doing("start it")
	if d.child, err = d.spawn(prog, d.settings.UUIDs, d.settings.MultiUser); err != nil {
		return err
	}
	set, back := d.limits()
	if err := d.answers(ctx, set); err != nil {
		return err
	}
	d.doing("read its limits back")
	if err := d.readBack(ctx, back); err != nil {
		return err
	}
	d.doing("start its server")
	return d.serveAll(ctx)
}

// giveUp leaves nothing of a daemon whose first start failed.
func (d *daemon) giveUp(ctx context.Context, err error) phase {
	err = fmt.Errorf("MPS daemon %s: %w", d.id, err)
	klog.FromContext(ctx).Error(err, "The daemon does not start")
	if left := d.vanish(); left != nil {
		return d.stick(errors.Join(err, left))
	}
	d.finish(err)
	return nil
}

// serve waits until something happens to the daemon or is asked of it.
func (d *daemon) serve(ctx context.Context) phase {
	d.served, d.mute = true, time.Time{}
	if d.up.IsZero() {
		d.up = time.Now()
		klog.FromContext(ctx).Info("The daemon serves", "pid", d.child.pid, "restarts", d.restarts)
	}
	d.show(func(s *mps.State) { s.Ready, s.Why, s.BrokenSince = true, d.cause, nil })
	tick := time.NewTicker(d.cfg.Look)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = d.endProcesses() // the next supervisor ends what this one cannot
			return nil
		case <-d.poke:
			return d.heed(ctx, d.serve)
		case <-d.child.done:
			d.broke(ctx, d.child.ended(), d.start)
			return d.rest
		case <-d.serverGone():
			if d.child.endsNow() {
				continue // the server of a daemon that ended goes after it
			}
			d.broke(ctx, fmt.Errorf("its server %d ended%s", d.server.pid, d.complaint()), d.revive)
			return d.rest
		case <-tick.C:
			if err := d.check(ctx); err != nil {
				d.broke(ctx, errors.Join(err, d.endProcesses()), d.start)
				return d.rest
			}
		}
	}
}

// check looks how the daemon is. It returns an error when there is no hope left.
func (d *daemon) check(ctx context.Context) error {
	d.trim()
	clients, wrong, err := d.census(ctx)
	now := time.Now()
	switch {
	case err == nil:
		d.mute = time.Time{}
		d.show(func(s *mps.State) {
			s.Clients = clients
			d.sound(s, wrong, now)
		})
	case !d.child.alive() || ctx.Err() != nil: // which serve sees for itself
	case d.mute.IsZero():
		d.mute = now
	case now.Sub(d.mute) > d.cfg.Mute:
		return fmt.Errorf("it did not answer for %s: %w", d.cfg.Mute, err)
	default:
		d.show(func(s *mps.State) { d.sound(s, "it does not answer: "+err.Error(), d.mute) })
	}
	return nil
}

// sound shows whether something is wrong with a daemon that runs.
func (d *daemon) sound(s *mps.State, wrong string, now time.Time) {
	if wrong == "" {
		s.Ready, s.Why, s.BrokenSince = true, d.cause, nil
		return
	}
	s.Ready, s.Why = false, wrong
	if s.BrokenSince == nil {
		s.BrokenSince = &now
	}
}

// held waits for the end of a pause. Nothing of the daemon runs.
func (d *daemon) held(ctx context.Context) phase {
	d.up = time.Time{}
	d.cause = "paused: " + d.records.paused()
	now := time.Now()
	d.show(func(s *mps.State) {
		s.Ready, s.Why, s.Clients, s.Restarts = false, d.cause, 0, d.restarts
		if s.BrokenSince == nil {
			s.BrokenSince = &now
		}
	})
	return d.wait(ctx, d.held)
}

// stick is for a daemon that could not be done away with: it waits to be asked
// again.
func (d *daemon) stick(err error) phase {
	d.setIdle(true)
	d.show(func(s *mps.State) { s.Ready, s.Why, s.Clients = false, err.Error(), 0 })
	return d.stuck
}

func (d *daemon) stuck(ctx context.Context) phase { return d.wait(ctx, d.stuck) }

// wait does nothing until it is asked to.
func (d *daemon) wait(ctx context.Context, otherwise phase) phase {
	select {
	case <-ctx.Done():
		return nil
	case <-d.poke:
		return d.heed(ctx, otherwise)
	}
}
