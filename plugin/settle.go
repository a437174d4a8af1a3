// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// settle undoes what the record says and forgets the claim. It is how every
// claim ends: a release, a try that failed, a try whose process died.
func (p *pipeline) settle(ctx context.Context, rec sharing.Record) error {
	unlock, err := p.locks.take(ctx, addressesOf(rec))
	if err != nil {
		return err
	}
	defer unlock()
	return p.undo(ctx, rec)
}

// undo is settle for who holds the locks already. The record stays until all of
// it is undone, so a failure here loses nothing: the next call goes on. What
// belongs to hardware that cannot be reached is owed: the claim is released, and
// the GPU stays fenced until it is undone.
func (p *pipeline) undo(ctx context.Context, rec sharing.Record) error {
	var holds []sharing.Hold
	var err error
	if rec.Shares() {
		if holds, err = p.records.Holds(gpusOf(rec)...); err != nil {
			return err
		}
		lost, err := p.strays()
		if err != nil {
			return fmt.Errorf("look who else shares what claim %s has: %w", rec.Who(), err)
		}
		holds = append(holds, lost...)
	}
	r := sharing.Release(rec, p.devices(), holds)
	stuck, err := p.run.back(ctx, r.Undo)
	if err != nil {
		return fmt.Errorf("release claim %s: %w", rec.Who(), err)
	}
	if err := p.records.Forget(r.Owed, append(r.Fences, stuck...)...); err != nil {
		return fmt.Errorf("forget claim %s: %w", rec.Who(), err)
	}
	return nil
}

// gpusOf are the names of the GPUs that the record has holds on.
func gpusOf(rec sharing.Record) []string {
	var out []string
	for _, h := range rec.Holds {
		out = append(out, sharing.GPUOf(h.Slot))
	}
	return out
}
