// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// Config is everything a Driver is made of.
type Config struct {
	NodeName string
	Paths    Paths
	Client   kubernetes.Interface
	GPUs     GPUs
	// Intervals and Daemons are what sharing needs besides.
	Intervals Intervals
	Daemons   Daemons
	Specs     Specs
	Records   Records
	Memory    Memory
	Kinds     Kinds
	// Match evaluates the gpuSelector of a policy.
	Match sharing.Match
	// LookEvery overrides how often the hardware is looked at; 0 means 5 s.
	LookEvery time.Duration
	// Retire overrides how long a device that is no longer offered stays; the zero
	// value means 2 min, and 10 min between two looks through all claims.
	Retire sharing.Patience
	// AnswerWithin overrides how long a call of the kubelet waits for its claim; 0
	// means 30 s.
	AnswerWithin time.Duration
}

// Driver is the node plugin. Make it with New, then Run it once.
type Driver struct {
	cfg       Config
	world     world
	flights   flights
	pipe      *pipeline
	observer  *observer
	recovery  *recovery
	reclaim   *reclaim
	offers    *offers
	means     means
	prober    *prober
	publisher *publisher
	reporter  *reporter

	base context.Context // of the work that outlives a call; set by Run
	fail context.CancelCauseFunc

	// daemons are the MPS control daemons as they were last heard of, by ID. Only the
	// watch of the supervisor uses it.
	daemons map[string]sharing.DaemonState

	// publishing is held while it is decided and told what is published; stoodDown is
	// why nothing is.
	publishing sync.Mutex
	stoodDown  string

	mu      sync.Mutex
	cluster cluster
	ready   bool
}

// New wires a driver. It touches nothing.
func New(cfg Config) *Driver {
	if cfg.LookEvery == 0 {
		cfg.LookEvery = lookEvery
	}
	if cfg.AnswerWithin == 0 {
		cfg.AnswerWithin = answerWithin
	}
	if cfg.Retire == (sharing.Patience{}) {
		cfg.Retire = retirePatience
	}
	d := &Driver{cfg: cfg}
	claims := &claimLister{client: cfg.Client, pool: cfg.NodeName}
	d.offers = &offers{memory: cfg.Memory, records: cfg.Records, claims: claims, clock: time.Now, wait: cfg.Retire}
	d.means = means{cgroup: cfg.Paths.ContainersCgroup, intervals: cfg.Intervals}
	d.pipe = &pipeline{
		pool: cfg.NodeName, records: cfg.Records, devices: d.world.byName, shared: d.offers.shared,
		run:     runner{specs: cfg.Specs, gpus: cfg.GPUs, intervals: cfg.Intervals, daemons: cfg.Daemons},
		clients: clients{client: cfg.Client, pool: cfg.NodeName, shared: d.offers.shared},
	}
	d.observer = &observer{gpus: cfg.GPUs, memory: cfg.Memory, records: cfg.Records, fl: &d.flights, pipe: d.pipe, era: cfg.Paths.Era, world: &d.world}
	d.recovery = &recovery{memory: cfg.Memory, specs: cfg.Specs, pipe: d.pipe, fl: &d.flights, due: make(chan struct{}, 1)}
	d.reclaim = &reclaim{claims: claims, memory: cfg.Memory, gpus: cfg.GPUs, specs: cfg.Specs, pipe: d.pipe, fl: &d.flights, world: &d.world}
	d.prober = &prober{client: cfg.Client, node: cfg.NodeName, now: make(chan struct{}, 1)}
	d.publisher = &publisher{client: cfg.Client, node: cfg.NodeName, dropped: d.prober.again}
	d.reporter = &reporter{kinds: cfg.Kinds, client: cfg.Client, node: cfg.NodeName, news: make(chan v1alpha1.GPUNodeStatus, 1), faults: make(chan neighbourFault, 256)}
	return d
}

// Run serves the node until the context ends, and returns nil then. An error
// says why the plugin cannot go on.
func (d *Driver) Run(ctx context.Context) error {
	ctx, d.fail = context.WithCancelCause(ctx)
	defer d.fail(nil)
	d.base = ctx
	// 1 nothing of ours, or of another instance, is in the way
	if err := d.makeWay(); err != nil {
		return err
	}
	// 2 observe: a sick GPU costs that GPU, an absent driver is waited for
	now, err := d.cfg.Paths.Era()
	if err != nil {
		return err
	}
	if _, err := d.observer.look(ctx); err != nil {
		return err
	}
	if err := d.offers.recall(); err != nil {
		return err
	}
	// 3 recover: journal and world agree before anybody can ask
	prepared, err := d.recovery.run(ctx, now)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	// 4 serve the kubelet
	helper, err := d.serve(ctx)
	if err != nil {
		return err
	}
	// 5 publish once the cluster is known, and keep looking
	var loops sync.WaitGroup
	d.watchCluster(ctx, &loops)
	loops.Go(func() { d.reporter.run(ctx) })
	loops.Go(func() { d.recovery.keep(ctx, prepared, d.cfg.Paths.Era) })
	loops.Go(func() { d.keepLooking(ctx) })
	<-ctx.Done()
	// 6 stop: no new calls, then what is under way, then the loops
	d.setReady(false)
	helper.Stop()
	d.flights.wait(context.Background())
	loops.Wait()
	d.publisher.stop()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

func (d *Driver) makeWay() error {
	if err := claimSocket(d.cfg.Paths.Socket(), "--kubelet-plugins-directory-path"); err != nil {
		return err
	}
	return claimSocket(d.cfg.Paths.RegistrySocket(), "--kubelet-registrar-directory-path")
}

// keepLooking takes a look every few seconds. What fails is tried again at the
// next.
func (d *Driver) keepLooking(ctx context.Context) {
	tick := time.NewTicker(d.cfg.LookEvery)
	defer tick.Stop()
	log := klog.FromContext(ctx)
	for {
		if err := d.lookAgain(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "Looking after the node; trying again", "in", d.cfg.LookEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *Driver) lookAgain(ctx context.Context) error {
	devices, err := d.observer.look(ctx)
	if err != nil {
		return err
	}
	d.recovery.again()
	return errors.Join(
		d.publish(ctx),
		d.reclaim.run(ctx),
		d.endUnwanted(ctx),
		d.observer.unfence(ctx, devices),
		d.offers.withdraw(ctx),
	)
}

func (d *Driver) setReady(ready bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = ready
}

// Ready says whether the plugin serves claims and has handed its slices over.
func (d *Driver) Ready() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ready
}
