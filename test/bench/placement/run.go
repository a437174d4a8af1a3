// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"io"

	"github.com/cotenant-dev/cotenant/test/bench/figure"
)

// Effort is how much is simulated and measured.
type Effort struct {
	Seeds  int // runs of each mix, load and layout
	Claims int // of a run
	Proof  int // claims of each mix, load and layout that go through the allocator
	Rounds int // allocations that are timed, of each claim on each layout
	Copies int // nodes of each layout on which they are
}

// Full is the effort that the bars are meant for: less than a minute on two CPUs.
func Full() Effort { return Effort{Seeds: 10, Claims: 40_000, Proof: 500, Rounds: 1_000, Copies: 8} }

// Quick times and proves less. It simulates as much: that takes seconds, and with
// fewer claims the bars would be met or missed by chance.
func Quick() Effort { return Effort{Seeds: 10, Claims: 40_000, Proof: 50, Rounds: 200, Copies: 4} }

// Run writes its tables to w and returns the figures, each with its bar. An error
// is not a missed bar: it says that something did not work, as when the allocator
// hands out what overlaps.
func Run(ctx context.Context, w io.Writer, e Effort) ([]figure.Row, error) {
	g, err := geometryOf(product)
	if err != nil {
		return nil, err
	}
	t := newTable(g)
	nodes, err := newNodes(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := nodes.prove(ctx, t, e.Proof); err != nil {
		return nil, fmt.Errorf("the allocator does not do what the simulation takes it to do: %w", err)
	}
	results, err := study(ctx, t, nodes.contenders(t), e.Seeds, e.Claims)
	if err != nil {
		return nil, err
	}
	profile, err := profileNamed(g, "1g.10gb")
	if err != nil {
		return nil, err
	}
	timed, err := costs(ctx, t, profile, e)
	if err != nil {
		return nil, err
	}
	if err := report(w, t, results, timed, e); err != nil {
		return nil, err
	}
	return rows(t, results, timed)
}
