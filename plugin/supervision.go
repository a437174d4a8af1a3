// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/sharing"
)

// neighbourFault is a daemon that was started anew under a claim.
type neighbourFault struct {
	claim  sharing.Record
	daemon string
	// death tells this time from others.
	death string
	why   string
}

// supervised takes up news of the MPS control daemons. What a daemon's clients had
// on the GPU ended with it, and they are told; a restart of the plugin is none.
func (d *Driver) supervised(ctx context.Context, now sharing.Supervision) {
	d.mu.Lock()
	before := d.cluster.mps
	d.mu.Unlock()
	log := klog.FromContext(ctx)
	if before == nil || before.Up != now.Up || before.Why != now.Why {
		if now.Up {
			log.Info("MPS control daemons can be run", "supervisor", now.Version)
		} else {
			log.Info("MPS control daemons cannot be run", "reason", now.Why)
		}
	}
	if !now.Up {
		return // its daemons are what they were; it comes back with its counts
	}
	was := d.daemons
	d.daemons = now.Daemons
	for id, state := range now.Daemons {
		death, died := died(was, id, state)
		if !died {
			continue
		}
		log.Info("An MPS control daemon does not serve any more and is started anew; its clients lost their contexts", "daemon", id, "restarts", state.Restarts, "reason", state.Why)
		claims, err := d.pipe.clientsOf(id)
		if err != nil {
			log.Error(err, "Cannot find out who was a client of it", "daemon", id)
		}
		for _, rec := range claims {
			d.reporter.fault(ctx, neighbourFault{claim: rec, daemon: id, death: death, why: state.Why})
		}
	}
}

// died says whether a daemon ceased to serve since the last news, and which time that
// is. One that died and serves again was missed in between.
func died(was map[string]sharing.DaemonState, id string, now sharing.DaemonState) (string, bool) {
	before, known := was[id]
	switch {
	case now.BrokenSince != 0:
		return fmt.Sprint("at ", now.BrokenSince), before.BrokenSince == 0
	case known && before.BrokenSince == 0 && now.Restarts > before.Restarts:
		return fmt.Sprint("start ", now.Restarts), true
	}
	return "", false
}

// endUnwanted ends the daemons that no record wants: those whose claims ended while
// the supervisor was not told.
func (d *Driver) endUnwanted(ctx context.Context) error {
	suspect, err := d.cfg.Memory.Suspect()
	if err != nil || suspect != "" {
		return err // whose they are is not known yet
	}
	d.mu.Lock()
	mps := d.cluster.mps
	d.mu.Unlock()
	if mps == nil || !mps.Up {
		return nil
	}
	var errs []error
	for id := range mps.Daemons {
		claims, err := d.pipe.clientsOf(id)
		if err == nil && len(claims) == 0 {
			err = d.endDaemon(ctx, id)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// endDaemon ends a daemon unless a claim wants it by now. Nobody else works on its
// GPU, or on the claim of that UID, meanwhile.
func (d *Driver) endDaemon(ctx context.Context, id string) error {
	_, err := d.flights.fly(ctx, ctx, id, mending, func(ctx context.Context) (sharing.Grant, error) {
		var gpus []string
		if g, ok := d.world.byName()[sharing.GPUOf(id)]; ok {
			gpus = []string{g.Address}
		}
		unlock, err := d.pipe.locks.take(ctx, gpus)
		if err != nil {
			return sharing.Grant{}, err
		}
		defer unlock()
		claims, err := d.pipe.clientsOf(id)
		if err != nil || len(claims) > 0 {
			return sharing.Grant{}, err
		}
		if err := d.pipe.run.stopMPS(ctx, sharing.StartMPS{Daemon: id}); err != nil {
			return sharing.Grant{}, err
		}
		klog.FromContext(ctx).Info("An MPS control daemon that no claim wanted is ended", "daemon", id)
		return sharing.Grant{}, nil
	})
	return err
}

// clientsOf returns the records of the claims whose containers are clients of a
// daemon: those that have a share of the slot of that name, or the claim of that UID.
func (p *pipeline) clientsOf(id string) ([]sharing.Record, error) {
	uids := []string{id}
	if gpu := sharing.GPUOf(id); gpu != "" {
		uids = nil
		holds, err := p.records.Holds(gpu)
		if err != nil {
			return nil, err
		}
		for _, h := range holds {
			if h.Slot == id && !h.Admin {
				uids = append(uids, h.Claim)
			}
		}
	}
	var out []sharing.Record
	for _, uid := range uids {
		rec, known, err := p.records.Claim(uid)
		if err != nil {
			return nil, err
		}
		if known {
			out = append(out, rec)
		}
	}
	return out, nil
}
