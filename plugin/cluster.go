// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// cluster is what the plugin has learnt of its cluster so far. Nothing is
// published before all of it is known: a policy that was not seen yet may own the
// GPUs.
type cluster struct {
	node     *nodeFacts
	policies *[]v1alpha1.SharingPolicy
	can      *sharing.Abilities
	// mps is the node's own; a supervisor that does not answer is known as well.
	mps *sharing.Supervision
}

func (c cluster) known() bool {
	return c.node != nil && c.policies != nil && c.can != nil && c.mps != nil
}

// watchCluster keeps what is published up to date with the Node, the policies and
// what the API server is able to keep.
func (d *Driver) watchCluster(ctx context.Context, loops *sync.WaitGroup) {
	loops.Go(func() {
		watchNode(ctx, d.cfg.Client, d.cfg.NodeName, func(f nodeFacts) {
			d.learn(ctx, func(c *cluster) { c.node = &f })
		})
	})
	loops.Go(func() {
		d.cfg.Kinds.WatchPolicies(ctx, func(p []v1alpha1.SharingPolicy) {
			d.learn(ctx, func(c *cluster) { c.policies = &p })
		})
	})
	loops.Go(func() {
		d.cfg.Daemons.Watch(ctx, func(now sharing.Supervision) {
			if root := d.cfg.Paths.MPSRoot; now.Up && now.Root != "" && now.Root != root {
				now.Up, now.Why = false, fmt.Sprintf("cotenant-mps has its daemons at %s (--host-root), and the plugin's --mps-root is %s; make them the same", now.Root, root)
			}
			d.supervised(ctx, now)
			d.learn(ctx, func(c *cluster) { c.mps = &now })
		})
	})
	loops.Go(func() {
		d.prober.watch(ctx, func(can sharing.Abilities) {
			if can.Partitions {
				klog.FromContext(ctx).Info("The cluster can express partitions")
			} else {
				klog.FromContext(ctx).Info("The cluster cannot express partitions; whole GPUs are published, and the MIG instances that are there", "reason", can.Why)
			}
			d.learn(ctx, func(c *cluster) { c.can = &can })
		})
	})
}

// learn takes up a change, and publishes as the cluster is now.
func (d *Driver) learn(ctx context.Context, change func(*cluster)) {
	d.mu.Lock()
	change(&d.cluster)
	known := d.cluster.known()
	d.mu.Unlock()
	if !known {
		return
	}
	if err := d.publish(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Deciding what to publish; the next look tries again")
		return
	}
	d.publisher.serve(ctx, d.nodeUID)
	d.setReady(true)
}

func (d *Driver) nodeUID() types.UID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cluster.node.uid
}

// publish tells the publisher what the node has, or nothing at all while somebody
// else hands out its GPUs. It does nothing before the cluster is known.
func (d *Driver) publish(ctx context.Context) error {
	// One at a time, each with what is known when it begins. What is asked meanwhile
	// may take a while, and keeps nobody else from the rest of the driver.
	d.publishing.Lock()
	defer d.publishing.Unlock()
	d.mu.Lock()
	now := d.cluster
	d.mu.Unlock()
	if !now.known() {
		return nil
	}
	c := sharing.Cluster{Policies: *now.policies, NodeLabels: now.node.labels, Can: *now.can, Match: d.cfg.Match}
	devices := sharing.Sorted(d.world.byName())
	has := d.means.gather(ctx, devices, c.Policies, *now.mps)
	offerings, err := d.offers.update(ctx, devices, c, has)
	if err != nil {
		return err
	}
	d.standDown(ctx, now.node.advertised)
	slices := sharing.Publish(offerings, c.Can)
	if d.stoodDown != "" {
		slices = nil
	}
	d.publisher.set(slices)
	var names []string
	for _, o := range offerings {
		names = append(names, o.Name)
	}
	holds, err := d.cfg.Records.Holds(names...)
	if err != nil {
		return fmt.Errorf("read who holds what, for the report: %w", err)
	}
	d.reporter.tell(sharing.Report(offerings, holds, c, has, d.stoodDown))
	return nil
}

// standDown looks whether somebody else hands out the GPUs, of which advertised are
// the device plugin's. d.publishing is held.
func (d *Driver) standDown(ctx context.Context, advertised int64) {
	why := standDown(d.cfg.Paths.UpstreamCheckpoint(), advertised)
	if why == d.stoodDown {
		return
	}
	d.stoodDown = why
	if why != "" {
		klog.FromContext(ctx).Info("Publishing nothing", "reason", why)
	} else {
		klog.FromContext(ctx).Info("Publishing again: nobody else hands out the GPUs of this node")
	}
}
