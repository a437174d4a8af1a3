// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cotenant-dev/cotenant/test/bench/placement"
	"github.com/cotenant-dev/cotenant/test/lab"
)

// bench is one run.
type bench struct {
	options
	lab       *lab.Lab
	dir       string
	client    kubernetes.Interface
	scheduler scheduler
	rungs     []*rung
}

// run measures everything and reports it. The error is errMissed when all that
// is wrong is a figure.
func run(ctx context.Context, o options) (err error) {
	l, err := lab.New("bench", o.tools)
	if err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Join(l.Out(), "bench.json")
	}
	// The temporary directory and not the repository: socket paths are short.
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // MPS clients of any user go through it
		return err
	}
	b := &bench{options: o, lab: l, dir: dir}
	defer func() {
		// The context may have ended; what was started is taken down all the same.
		err = errors.Join(err, b.stop(), l.Down(context.WithoutCancel(ctx)), os.RemoveAll(dir))
	}()
	m, err := lookAtMachine(dir)
	if err != nil {
		return err
	}
	begun := time.Now()
	// First, while nothing else runs: it times single allocations.
	b.say("partitions come and go under three orders, and one allocation is timed")
	placed, err := placement.Run(ctx, o.table, o.effort.placement)
	if err != nil {
		return fmt.Errorf("placement: %w", err)
	}
	found, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if err := m.finish(b.client, time.Since(begun)); err != nil {
		return err
	}
	r := report{Machine: m, Effort: o.effort, Rows: append(placed, rows(found)...)}
	if err := errors.Join(r.print(o.table), r.save(o.out)); err != nil {
		return err
	}
	if !r.ok() {
		return errMissed
	}
	return nil
}

// measure goes through the stages in order.
func (b *bench) measure(ctx context.Context) (measured, error) {
	b.say("starting etcd and the API server")
	if err := b.connect(ctx); err != nil {
		return measured{}, err
	}
	b.say("preparing %v claims on a node each", b.effort.levels)
	if err := b.setUp(ctx); err != nil {
		return measured{}, err
	}
	b.say("%d prepares and unprepares on each node, taking turns with the floor", b.effort.pairs)
	floor, err := b.ladder(ctx)
	if err != nil {
		return measured{}, fmt.Errorf("one claim at a time: %w", err)
	}
	b.say("many prepares at once")
	bursts, err := b.bursts(ctx)
	if err != nil {
		return measured{}, fmt.Errorf("many claims at once: %w", err)
	}
	b.say("%d starts on the first and on the last node", b.effort.starts)
	if err := b.starts(ctx); err != nil {
		return measured{}, fmt.Errorf("starts: %w", err)
	}
	b.say("shares by MPS, a start that hangs beside %d prepares, and one of %s", b.effort.pairs, b.effort.slowStart)
	shared, err := b.sharing(ctx)
	if err != nil {
		return measured{}, fmt.Errorf("sharing: %w", err)
	}
	return measured{floor: floor, rungs: b.rungs, bursts: bursts, sharers: shared}, nil
}

// connect starts the control plane and makes a client with the plugin's own
// settings: no rate limit.
func (b *bench) connect(ctx context.Context) error {
	if err := b.lab.ControlPlane(ctx, ""); err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", b.lab.Kubeconfig())
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = -1, 1000
	cfg.UserAgent = "cotenant-bench"
	b.client, err = kubernetes.NewForConfig(cfg)
	b.scheduler = scheduler{client: b.client}
	return err
}

// setUp makes a rung for each level and climbs it.
func (b *bench) setUp(ctx context.Context) error {
	if err := b.scheduler.makeNamespace(ctx); err != nil {
		return err
	}
	plugin, err := unpack(filepath.Join(b.lab.Out(), "bin"), filepath.Join(b.dir, "bin"))
	if err != nil {
		return err
	}
	for i, level := range b.effort.levels {
		name := fmt.Sprintf("n%d", i+1)
		if err := b.scheduler.makeNode(ctx, name, nil); err != nil {
			return err
		}
		n, err := newNode(b.lab, plugin, name, filepath.Join(b.dir, name), b.tools)
		if err != nil {
			return err
		}
		r := &rung{level: level, node: n}
		b.rungs = append(b.rungs, r)
		if err := r.climb(ctx, b.scheduler); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}

// stop ends the plugins that run.
func (b *bench) stop() error {
	var errs error
	for _, r := range b.rungs {
		errs = errors.Join(errs, r.node.stop())
	}
	return errs
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "bench: "+format+"\n", args...)
}
