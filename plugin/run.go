// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// runner is the only thing that changes the node. Who calls it has written the
// step to the journal.
type runner struct {
	specs     Specs
	gpus      GPUs
	intervals Intervals
	daemons   Daemons
}

// patience is how long the hardware is asked again that says it is in use: a
// process that has just ended, or a monitor's sample, keeps it for a moment. It
// is shorter than what the kubelet allows for a call, and nobody on another GPU
// waits for it.
var patience = [...]time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}

// all runs the steps of the record in order, and stops at the first that fails or
// when the context ends between two of them. note stores the record whenever a
// step learnt something, before the next one runs.
func (r runner) all(ctx context.Context, rec *sharing.Record, note func(sharing.Record) error) error {
	for _, s := range rec.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		slot, fact, err := r.do(ctx, s, rec.Facts)
		if err != nil && slot != "" {
			// What was learnt of the slot no longer holds, and must not be undone by.
			rec.Unlearn(slot)
			return errors.Join(err, note(*rec))
		}
		if err != nil {
			return err
		}
		if slot == "" || !rec.Learn(slot, fact) {
			continue
		}
		if err := note(*rec); err != nil {
			return fmt.Errorf("note what was made for %s: %w", slot, err)
		}
	}
	return nil
}

// do runs one step. What it learnt of which slot is returned; "" when nothing. With
// an error, a slot is one of which nothing is known any more.
func (r runner) do(ctx context.Context, s sharing.Step, facts sharing.Facts) (string, sharing.Fact, error) {
	switch s := s.(type) {
	case sharing.SwitchMIG:
		return "", sharing.Fact{}, r.patiently(ctx, func() error { return r.gpus.SwitchMIG(ctx, s.Address, s.On) })
	case sharing.FindVacant:
		return r.findVacant(ctx, s.Place, facts)
	case sharing.CreateGPUInstance:
		return r.createGPUInstance(ctx, s.Place, facts)
	case sharing.CreateComputeInstance:
		return r.createComputeInstance(ctx, s.Place, facts)
	case sharing.FindInstance:
		return r.findInstance(ctx, s, facts)
	case sharing.NoteComputeMode:
		return r.noteComputeMode(ctx, s, facts)
	case sharing.SetComputeMode:
		return "", sharing.Fact{}, r.setComputeMode(ctx, s, facts)
	case sharing.NoteInterval:
		return r.noteInterval(ctx, s, facts)
	case sharing.SetInterval:
		return "", sharing.Fact{}, r.setInterval(ctx, s, facts)
	case sharing.StartMPS:
		return "", sharing.Fact{}, r.startMPS(ctx, s, facts)
	case sharing.WriteSpec:
		return "", sharing.Fact{}, r.specs.Write(ctx, s, facts)
	}
	return "", sharing.Fact{}, fmt.Errorf("no way to run step %T", s)
}

// back undoes the steps of the record in reverse order, and returns the fences
// for what could not be taken back and keeps nobody from being released. It does
// not stop for a canceled context: what was begun is taken back.
func (r runner) back(ctx context.Context, rec sharing.Record) ([]sharing.Fence, error) {
	ctx = context.WithoutCancel(ctx)
	var fences []sharing.Fence
	for i := len(rec.Steps) - 1; i >= 0; i-- {
		fence, err := r.undo(ctx, rec.Steps[i], rec.Facts)
		if err != nil {
			return nil, err
		}
		if fence != nil {
			fences = append(fences, *fence)
		}
	}
	return fences, nil
}

func (r runner) undo(ctx context.Context, s sharing.Step, facts sharing.Facts) (*sharing.Fence, error) {
	switch s := s.(type) {
	case sharing.SwitchMIG:
		return r.switchOff(ctx, s), nil
	case sharing.CreateGPUInstance:
		return nil, r.destroy(ctx, s.Place, facts)
	case sharing.FindVacant, sharing.CreateComputeInstance, sharing.FindInstance, sharing.NoteComputeMode, sharing.NoteInterval:
		return nil, nil
	case sharing.SetComputeMode:
		return nil, r.restoreComputeMode(ctx, s, facts)
	case sharing.SetInterval:
		return nil, r.restoreInterval(ctx, s, facts)
	case sharing.StartMPS:
		return nil, r.stopMPS(ctx, s)
	case sharing.WriteSpec:
		return nil, r.specs.Remove(s.Claim)
	}
	return nil, fmt.Errorf("no way to undo step %T", s)
}

// patiently asks again while the hardware is in use.
func (r runner) patiently(ctx context.Context, f func() error) error {
	err := f()
	for _, wait := range patience {
		if api.ReasonOf(err) != api.InUse {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		err = f()
	}
	return err
}
