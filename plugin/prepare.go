// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	// shared returns the settings of the shared slots that are listed, by name.
	shared func() map[string]sharing.Shared
	// clients refuses containers that would be clients of two MPS daemons.
	clients clients
}

// prepare makes the node ready for the claim and returns what it got. Repeating
// it returns the same.
func (p *pipeline) prepare(ctx context.Context, c sharing.Claim) (sharing.Grant, error) {
	// 0 refuse what no container could use, a pod that comes later included
	if err := p.clients.check(ctx, c); err != nil {
		return sharing.Grant{}, err
	}
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
	unlock, err := p.locks.take(ctx, addresses(c, devices))
	if err != nil {
		return sharing.Grant{}, canceled(c, err)
	}
	defer unlock()
	rec, err = p.acquire(c, devices, sharing.Trace{})
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
	unlock, err := p.locks.take(ctx, addressesOf(rec))
	if err != nil {
		return sharing.Grant{}, err
	}
	defer unlock()
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
		err = api.Errorf(api.Lost, "claim %s/%s had the GPU at %s before, which does not answer and cannot be cleaned up; reset the GPU or reboot the node", rest.Namespace, rest.Name, strings.Join(addressesOf(rest), ", "))
	}
	return err
}

// acquire gathers what the decision may see, and decides. The trace is that of a
// claim whose record is made again.
func (p *pipeline) acquire(c sharing.Claim, devices map[string]sharing.Device, t sharing.Trace) (sharing.Record, error) {
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
	n := sharing.Node{Pool: p.pool, Devices: devices, Holds: holds}
	if c.Shares() {
		n.Slots = p.shared()
		if n.Known, err = p.noted(c, holds); err != nil {
			return sharing.Record{}, err
		}
	}
	if slots := t.Slots(); len(slots) > 0 {
		maps.Copy(slots, n.Slots)
		n.Slots = slots
	}
	return sharing.Acquire(n, c)
}

// noted is what the records of other claims with shares of the same slots know of
// what the GPUs' settings were.
func (p *pipeline) noted(c sharing.Claim, holds []sharing.Hold) (sharing.Facts, error) {
	facts := sharing.Facts{}
	for _, h := range holds {
		if h.Claim == c.UID || h.Admin || !slices.ContainsFunc(c.Asks, func(a sharing.Ask) bool { return a.Device == h.Slot }) {
			continue
		}
		rec, _, err := p.records.Claim(h.Claim)
		if err != nil {
			return nil, err
		}
		maps.Copy(facts, rec.Facts)
		if rec.State == sharing.Prepared {
			break // it knows all there is to know
		}
	}
	return facts, nil
}

// takeBack undoes a try that failed in this call. What cannot be undone stays
// recorded, keeps its devices held, and is settled by the next call.
func (p *pipeline) takeBack(ctx context.Context, rec sharing.Record, cause error) error {
	if ctx.Err() != nil {
		cause = canceled(sharing.Claim{Namespace: rec.Namespace, Name: rec.Name}, cause)
	}
	return errors.Join(cause, p.undo(ctx, rec))
}

func canceled(c sharing.Claim, cause error) error {
	return api.Errorf(api.Canceled, "claim %s/%s was released while it was being prepared (%w)", c.Namespace, c.Name, cause)
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
