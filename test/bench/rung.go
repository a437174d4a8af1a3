// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
)

// How a rung is filled: calls of this many claims, so many calls at once.
const (
	fillBatch = 25
	fillCalls = 4
)

// rung is one node with a number of claims prepared, and what was measured
// there.
type rung struct {
	level int
	node  *node

	prepare, unprepare sample // ms
	spent              usage  // over the measured pairs
	memory             memory // the most that was seen after a pair
	starts             []startTimes
}

// climb starts the plugin and prepares the level's claims, one unmeasured claim
// on each GPU first: what a GPU needs in a container is worked out at its first
// claim, and the levels that are filled have that behind them.
func (r *rung) climb(ctx context.Context, s scheduler) error {
	if err := r.node.start(ctx); err != nil {
		return err
	}
	warm, err := s.allocate(ctx, r.node.name, "warm", gpus, ordinary)
	if err != nil {
		return err
	}
	if err := errors.Join(r.node.kubelet.prepare(ctx, warm...), r.node.kubelet.unprepare(ctx, warm...)); err != nil {
		return err
	}
	claims, err := s.allocate(ctx, r.node.name, "fill", r.level, admin)
	if err != nil {
		return err
	}
	batches := (r.level + fillBatch - 1) / fillBatch
	err = inParallel(batches, fillCalls, func(i int) error {
		return r.node.kubelet.prepare(ctx, claims[i*fillBatch:min((i+1)*fillBatch, r.level)]...)
	})
	if err != nil {
		return err
	}
	return r.node.expect(ctx, r.level)
}

// pair measures one prepare and unprepare, and looks whether they did what they
// said.
func (r *rung) pair(ctx context.Context, c *drav1.Claim) error {
	before, err := usageOf(r.node.process.pid())
	if err != nil {
		return err
	}
	if err := r.prepare.take(func() error { return r.node.kubelet.prepare(ctx, c) }); err != nil {
		return err
	}
	if _, err := os.Stat(r.node.spec(c.Uid)); err != nil {
		return fmt.Errorf("claim %s is prepared and has no CDI spec: %w", c.Name, err)
	}
	if err := r.unprepare.take(func() error { return r.node.kubelet.unprepare(ctx, c) }); err != nil {
		return err
	}
	if _, err := os.Stat(r.node.spec(c.Uid)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("claim %s is unprepared and still has a CDI spec (%v)", c.Name, err)
	}
	after, err := usageOf(r.node.process.pid())
	if err != nil {
		return err
	}
	r.spent.add(after.sub(before))
	now, err := memoryOf(r.node.process.pid())
	r.memory = r.memory.most(now)
	return err
}

// startTimes are counted from the moment before the process is made.
type startTimes struct {
	socket    time.Duration // the plugin answers a call
	prepared  time.Duration // a claim is prepared
	published time.Duration // a watcher has seen all GPUs in slices
}
