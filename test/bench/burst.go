// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
)

// fullNode is the kubelet's default for the most pods a node has.
const fullNode = 110

// burst is what several prepares at the same moment did.
type burst struct {
	width  int
	wall   sample // ms, until the last answer
	failed int    // of all repetitions
	why    error  // of one that failed
}

// claims is how many prepares there were in all.
func (b *burst) claims() int { return b.width * len(b.wall) }

// bursts runs, on the node without other claims, one ordinary claim for each GPU
// and then a full node's worth.
func (b *bench) bursts(ctx context.Context) ([]*burst, error) {
	n := b.rungs[0].node
	var out []*burst
	for _, kind := range []struct {
		width  int
		access access
	}{{gpus, ordinary}, {fullNode, admin}} {
		claims, err := b.scheduler.allocate(ctx, n.name, fmt.Sprintf("burst%d", kind.width), kind.width, kind.access)
		if err != nil {
			return nil, err
		}
		one := &burst{width: kind.width}
		for range b.effort.bursts {
			if err := one.repeat(ctx, n, claims); err != nil {
				return nil, err
			}
		}
		if one.failed > 0 {
			b.say("%d of %d prepares failed, one with: %v", one.failed, one.claims(), one.why)
		}
		out = append(out, one)
	}
	return out, nil
}

// repeat prepares all claims at once, looks whether the node holds those that it
// says, and unprepares them.
func (b *burst) repeat(ctx context.Context, n *node, claims []*drav1.Claim) error {
	took, errs := atOnce(len(claims), func(i int) error { return n.kubelet.prepare(ctx, claims[i]) })
	b.wall.add(took)
	prepared := len(claims)
	for _, err := range errs {
		if err != nil {
			prepared--
			b.failed, b.why = b.failed+1, err
		}
	}
	if err := n.expect(ctx, prepared); err != nil {
		return err
	}
	if err := n.kubelet.unprepare(ctx, claims...); err != nil {
		return err
	}
	return n.expect(ctx, 0)
}

// atOnce calls f with 0 to n-1, all released at the same moment, and returns how
// long it took until the last was back.
func atOnce(n int, f func(int) error) (time.Duration, []error) {
	errs := make([]error, n)
	gate := make(chan struct{})
	var waiting, done sync.WaitGroup
	waiting.Add(n)
	for i := range n {
		done.Go(func() {
			waiting.Done()
			<-gate
			errs[i] = f(i)
		})
	}
	waiting.Wait()
	begun := time.Now()
	close(gate)
	done.Wait()
	return time.Since(begun), errs
}
