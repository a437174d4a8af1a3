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

	"github.com/cotenant-dev/cotenant/sharing"
)

// Config is everything a Driver is made of.
type Config struct {
	NodeName string
	Paths    Paths
	Client   kubernetes.Interface
	GPUs     GPUs
	Specs    Specs
	Records  Records
	Memory   Memory
	// LookEvery overrides how often the hardware is looked at; 0 means 5 s.
	LookEvery time.Duration
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
	publisher *publisher

	base context.Context // of the work that outlives a call; set by Run
	fail context.CancelCauseFunc

	mu         sync.Mutex
	advertised int64
	stoodDown  string
	ready      bool
}

// New wires a driver. It touches nothing.
func New(cfg Config) *Driver {
	if cfg.LookEvery == 0 {
		cfg.LookEvery = lookEvery
	}
	d := &Driver{cfg: cfg}
	d.pipe = &pipeline{pool: cfg.NodeName, records: cfg.Records, run: runner{specs: cfg.Specs}, devices: d.world.byName}
	d.observer = &observer{gpus: cfg.GPUs, memory: cfg.Memory, era: cfg.Paths.Era, world: &d.world}
	d.recovery = &recovery{memory: cfg.Memory, specs: cfg.Specs, pipe: d.pipe, fl: &d.flights}
	d.reclaim = &reclaim{client: cfg.Client, memory: cfg.Memory, gpus: cfg.GPUs, specs: cfg.Specs, pipe: d.pipe, fl: &d.flights, world: &d.world}
	d.publisher = &publisher{client: cfg.Client, node: cfg.NodeName}
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
	devices, err := d.observer.look(ctx)
	if err != nil {
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
	// 5 publish, and keep looking
	d.publish(ctx, devices)
	var loops sync.WaitGroup
	loops.Go(func() { watchNode(ctx, d.cfg.Client, d.cfg.NodeName, func(f nodeFacts) { d.nodeChanged(ctx, f) }) })
	loops.Go(func() {
		d.recovery.look(ctx, prepared)
		d.keepLooking(ctx)
	})
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
	now, err := d.cfg.Paths.Era()
	if err != nil {
		return err
	}
	d.publish(ctx, devices)
	return errors.Join(
		d.recovery.refresh(ctx, now),
		d.reclaim.run(ctx),
		d.observer.unfence(ctx, devices),
	)
}

// nodeChanged publishes on behalf of the Node as it is now.
func (d *Driver) nodeChanged(ctx context.Context, f nodeFacts) {
	d.mu.Lock()
	d.advertised = f.advertised
	d.mu.Unlock()
	d.publish(ctx, sharing.Sorted(d.world.byName()))
	d.publisher.serve(ctx, f.uid)
	d.setReady(true)
}

// publish tells the publisher what the node has, or nothing at all while
// somebody else hands out its GPUs.
func (d *Driver) publish(ctx context.Context, devices []sharing.Device) {
	d.mu.Lock()
	defer d.mu.Unlock()
	why := standDown(d.cfg.Paths.UpstreamCheckpoint(), d.advertised)
	if why != d.stoodDown {
		d.stoodDown = why
		if why != "" {
			klog.FromContext(ctx).Info("Publishing nothing", "reason", why)
		} else {
			klog.FromContext(ctx).Info("Publishing again: nobody else hands out the GPUs of this node")
		}
	}
	if why != "" {
		devices = nil
	}
	d.publisher.set(sharing.Publish(devices))
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
