// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
)

// starts restarts the plugins of the lowest and the highest rung, in turn.
func (b *bench) starts(ctx context.Context) error {
	ends := []*rung{b.rungs[0], b.rungs[len(b.rungs)-1]}
	for _, r := range b.rungs {
		if err := r.node.stop(); err != nil {
			return err
		}
	}
	for i := range b.effort.starts {
		for _, r := range ends {
			claims, err := b.scheduler.allocate(ctx, r.node.name, fmt.Sprintf("start%d", i), 1, ordinary)
			if err != nil {
				return err
			}
			t, err := r.restart(ctx, b.scheduler, claims[0])
			if err != nil {
				return err
			}
			r.starts = append(r.starts, t)
		}
	}
	return nil
}

// restart starts the stopped plugin on a node whose slices are gone, prepares the
// claim as soon as the socket answers, and stops it again.
func (r *rung) restart(ctx context.Context, s scheduler, c *drav1.Claim) (startTimes, error) {
	var t startTimes
	if err := r.node.expect(ctx, r.level); err != nil {
		return t, err
	}
	watching, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	seen, err := s.awaitSlices(watching, r.node.name, gpus)
	if err != nil {
		return t, err
	}
	if err := r.node.launch(); err != nil {
		return t, err
	}
	begun := r.node.process.begun
	if err := r.node.awaitSocket(ctx); err != nil {
		return t, err
	}
	t.socket = time.Since(begun)
	if err := r.node.kubelet.prepare(ctx, c); err != nil {
		return t, r.node.explain(err)
	}
	t.prepared = time.Since(begun)
	published := <-seen
	if published.err != nil {
		return t, r.node.explain(published.err)
	}
	t.published = published.at.Sub(begun)
	if err := r.node.kubelet.unprepare(ctx, c); err != nil {
		return t, r.node.explain(err)
	}
	return t, r.node.stop()
}
