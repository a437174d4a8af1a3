// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"

	"github.com/cotenant-dev/cotenant/test/scheduler"
)

// nodes are the node in both layouts, each with its classes.
type nodes struct {
	our, their               published
	ourClasses, theirClasses scheduler.Classes
}

func newNodes(ctx context.Context, t *table) (nodes, error) {
	n := nodes{theirClasses: upstreamClasses(t.geometry)}
	var err error
	if n.our, err = ours(t.geometry); err != nil {
		return n, err
	}
	if n.their, err = upstream(t.geometry); err != nil {
		return n, err
	}
	n.ourClasses, err = ourClasses(ctx, t.geometry)
	return n, err
}

// ours and upstream are an allocator each for which nothing is allocated yet.
func (n nodes) ours(t *table) *allocator     { return newAllocator(t, n.our, n.ourClasses) }
func (n nodes) upstream(t *table) *allocator { return newAllocator(t, n.their, n.theirClasses) }

func (n nodes) contenders(t *table) []contender {
	return []contender{
		{byNames, func() packer { return newByOrder(t, n.their) }},
		{bySpace, func() packer { return newByOrder(t, n.our) }},
		{bestOf, func() packer { return bestFit{newBoard(t, gpus)} }},
	}
}

// prove has the upstream allocator place the first claims of every setting on both
// layouts, and holds each decision against byOrder.
func (n nodes) prove(ctx context.Context, t *table, claims int) error {
	var jobs []func() error
	for _, s := range settings() {
		for _, c := range []contender{
			{byNames, func() packer { return witness{n.upstream(t), newByOrder(t, n.their)} }},
			{bySpace, func() packer { return witness{n.ours(t), newByOrder(t, n.our)} }},
		} {
			jobs = append(jobs, func() error {
				asked, err := demand(s, t, gpus, 0, claims)
				if err != nil {
					return err
				}
				if _, err := churn(ctx, t, gpus, asked[:claims], c.packer()); err != nil {
					return fmt.Errorf("%s, %s: %w", s, c.layout, err)
				}
				return nil
			})
		}
	}
	return inParallel(ctx, jobs)
}
