// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
)

// ladder measures single claims on every rung and the floor. They take turns,
// and each round begins with the next of them, so that no one always follows
// the same other.
func (b *bench) ladder(ctx context.Context) (*floor, error) {
	claims := make([][]*drav1.Claim, len(b.rungs))
	for i, r := range b.rungs {
		var err error
		if claims[i], err = b.scheduler.allocate(ctx, r.node.name, "pair", b.effort.pairs, ordinary); err != nil {
			return nil, err
		}
	}
	f, err := newFloor(b.client, b.dir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	turns := []func(round int) error{func(round int) error { return f.measure(ctx, claims[0][round].Name) }}
	for i, r := range b.rungs {
		turns = append(turns, func(round int) error { return r.pair(ctx, claims[i][round]) })
	}
	for round := range b.effort.pairs {
		for i := range turns {
			if err := turns[(round+i)%len(turns)](round); err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	for _, r := range b.rungs {
		if err := r.node.expect(ctx, r.level); err != nil {
			return nil, err
		}
	}
	return f, nil
}
