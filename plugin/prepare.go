// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// pipeline turns claims into changes of the node. It owns no state: that is in
// the journal and in the world.
type pipeline struct {
	pool    string
	records Records
	run     runner
	locks   locks
	// devices returns the node's devices by published name.
	devices func() map[string]sharing.Device
}

// prepare makes the node ready for the claim and returns what it got. Repeating
// it returns the same.
func (p *pipeline) prepare(ctx context.Context, c sharing.Claim) (sharing.Grant, error) {
	// 1 recall: what does the journal know of it?
	rec, known, err := p.records.Claim(c.UID)
	if err != nil {
		return sharing.Grant{}, err
	}
	if known && rec.State == sharing.Prepared {
		return p.again(ctx, rec)
	}
	// 2 settle: what a dead process, or a failed release, left unfinished
	if known {
		if err := p.settleFirst(ctx, rec); err != nil {
			return sharing.Grant{}, err
		}
	}
	// 3 acquire: nobody else can decide about these GPUs meanwhile
	devices := p.devices()
	defer p.locks.take(addresses(c, devices))()
	rec, err = p.acquire(c, devices)
	if err != nil {
		return sharing.Grant{}, err
	}
	// 4 begin: steps and holds are on disk before anything is touched
	if err := p.records.Put(rec); err != nil {
		return sharing.Grant{}, fmt.Errorf("record the intent: %w", err)
	}
	// 5 run
	if err := p.run.all(ctx, &rec, p.records.Put); err != nil {
		return sharing.Grant{}, p.takeBack(ctx, rec, err)
	}
	// 6 end
	rec.State = sharing.Prepared
	if err := p.records.Put(rec); err != nil {
		rec.State = sharing.Preparing
		return sharing.Grant{}, p.takeBack(ctx, rec, fmt.Errorf("record the grant: %w", err))
	}
	return *rec.Grant, nil
}

// again answers a repeat: look, repair what is missing, return the same grant.
// Hardware that is no longer there is an error, never silently something else.
func (p *pipeline) again(ctx context.Context, rec sharing.Record) (sharing.Grant, error) {
	devices := p.devices()
	defer p.locks.take(addressesOf(rec))()
	if err := sharing.Intact(rec, devices); err != nil {
		return sharing.Grant{}, err
	}
	if err := p.run.all(ctx, &rec, p.records.Put); err != nil {
		return sharing.Grant{}, fmt.Errorf("repair what was prepared: %w", err)
	}
	return *rec.Grant, nil
}

// settleFirst ends an earlier life of the claim. While part of it is owed on a
// GPU that does not answer, it cannot begin another.
func (p *pipeline) settleFirst(ctx context.Context, rec sharing.Record) error {
	if err := p.settle(ctx, rec); err != nil {
		return err
	}
	rest, owed, err := p.records.Claim(rec.UID)
	if err == nil && owed {
		err = api.Errorf(api.Lost, "claim %s/%s had %s before, which does not answer and cannot be cleaned up; reset the GPU or reboot the node", rest.Namespace, rest.Name, rest.Holds[0].Slot)
	}
	return err
}

// acquire gathers what the decision may see, and decides.
func (p *pipeline) acquire(c sharing.Claim, devices map[string]sharing.Device) (sharing.Record, error) {
	var gpus []string
	for _, a := range c.Asks {
		if !a.Admin { // they are not held off, whoever holds it
			gpus = append(gpus, sharing.GPUOf(a.Device))
		}
	}
	holds, err := p.records.Holds(gpus...)
	if err != nil {
		return sharing.Record{}, err
	}
	return sharing.Acquire(sharing.Node{Pool: p.pool, Devices: devices, Holds: holds}, c)
}

// takeBack undoes a try that failed in this call. What cannot be undone stays
// recorded, keeps its devices held, and is settled by the next call.
func (p *pipeline) takeBack(ctx context.Context, rec sharing.Record, cause error) error {
	if ctx.Err() != nil {
		cause = api.Errorf(api.Canceled, "claim %s/%s was released while it was being prepared", rec.Namespace, rec.Name)
	}
	return errors.Join(cause, p.undo(ctx, rec))
}

// addresses are the PCI addresses of the devices that the claim names.
func addresses(c sharing.Claim, devices map[string]sharing.Device) []string {
	var out []string
	for _, a := range c.Asks {
		if d, ok := devices[sharing.GPUOf(a.Device)]; ok {
			out = append(out, d.Address)
		}
	}
	return out
}

func addressesOf(rec sharing.Record) []string {
	var out []string
	for _, s := range rec.Steps {
		out = append(out, s.GPUs()...)
	}
	return out
}
