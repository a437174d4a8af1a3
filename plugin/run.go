// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// runner is the only thing that changes the node. Who calls it has written the
// step to the journal.
type runner struct {
	specs Specs
}

// all runs the steps in order, and stops at the first that fails or when the
// context ends between two of them.
func (r runner) all(ctx context.Context, steps []sharing.Step) error {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.do(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// back undoes the steps in reverse order. It does not stop for a canceled
// context: what was begun is taken back.
func (r runner) back(steps []sharing.Step) error {
	for i := len(steps) - 1; i >= 0; i-- {
		if err := r.undo(steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r runner) do(ctx context.Context, s sharing.Step) error {
	switch s := s.(type) {
	case sharing.WriteSpec:
		return r.specs.Write(ctx, s)
	}
	return fmt.Errorf("no way to run step %T", s)
}

func (r runner) undo(s sharing.Step) error {
	switch s := s.(type) {
	case sharing.WriteSpec:
		return r.specs.Remove(s.Claim)
	}
	return fmt.Errorf("no way to undo step %T", s)
}
