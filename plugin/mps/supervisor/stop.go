// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
)

// stop does away with the daemon, unless it has clients. What fails leaves it
// stuck, and can be asked for again.
func (d *daemon) stop(ctx context.Context, otherwise phase) (phase, error) {
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ending = false
	}()
	// What is begun is brought to an end, also when the supervisor ends.
	ctx = context.WithoutCancel(ctx)
	if n := d.connected(ctx); n > 0 {
		return otherwise, api.Errorf(api.InUse, "MPS daemon %s has %d clients; end their containers first", d.id, n)
	}
	if err := d.intend(); err != nil {
		return otherwise, err
	}
	d.doing("stop it")
	err := d.quit(ctx)
	if err == nil {
		err = d.vanish()
	}
	if err != nil {
		err = fmt.Errorf("MPS daemon %s: %w", d.id, err)
		klog.FromContext(ctx).Error(err, "The daemon is not gone")
		return d.stick(err), err
	}
	klog.FromContext(ctx).Info("The daemon is gone")
	d.finish(errOver)
	return nil, nil
}

// intend notes that the daemon is no longer wanted.
func (d *daemon) intend() error {
	d.leaving = true
	return d.records.put(d.id, record{Settings: d.settings, Stopping: true, Restarts: d.restarts})
}

// connected counts the clients. Of a daemon that does not answer, it is those that
// it last had.
func (d *daemon) connected(ctx context.Context) int {
	if d.child == nil || !d.child.alive() {
		return 0
	}
	n, _, err := d.census(ctx)
	if err != nil {
		st, _, _ := d.look()
		return st.Clients
	}
	return n
}

// quit asks the daemon to end with its servers.
func (d *daemon) quit(ctx context.Context) error {
	if d.child != nil && d.child.alive() {
		seconds := max(1, int(d.cfg.Quit/time.Second))
		if _, err := d.child.say(ctx, d.cfg.Quit+d.cfg.Command, "quit -t "+strconv.Itoa(seconds)); err != nil {
			klog.FromContext(ctx).Info("The daemon does not quit and is ended", "why", err.Error())
		} else {
			select {
			case <-d.child.done:
			case <-time.After(d.cfg.Quit):
			}
		}
	}
	return d.endProcesses()
}

// endProcesses returns when none of the daemon's processes is left.
func (d *daemon) endProcesses() error {
	d.dismiss()
	if d.child != nil {
		d.child.end(d.cfg.Quit)
		d.child = nil
	}
	return d.sweep()
}

// vanish removes what is left of the daemon when its processes are gone, and then
// its record.
func (d *daemon) vanish() error {
	if err := errors.Join(d.intend(), d.remove()); err != nil {
		return err
	}
	return d.records.forget(d.id)
}

// goOn brings a stop to an end that an earlier supervisor began.
func (d *daemon) goOn(ctx context.Context) phase {
	next, err := d.stop(ctx, nil)
	if err != nil {
		return d.stick(err)
	}
	return next
}
