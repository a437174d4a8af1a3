// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// FieldOwner is who writes.
const FieldOwner = "cotenant-controller"

// pace is the least time between two writes of one policy's figures.
const pace = time.Minute

// Controller keeps the figures of the policies up to date. Its requests have no
// content: each is about everything.
type Controller struct {
	client client.Client
	clock  clock.PassiveClock
	// written is when the figures of a policy were last written, by name.
	written map[string]time.Time
}

// New returns the controller.
func New(c client.Client, clk clock.PassiveClock) *Controller {
	return &Controller{client: c, clock: clk, written: map[string]time.Time{}}
}

// Register has the manager run the controller when a node says something new of
// its policies, or a policy comes or is written.
func (c *Controller) Register(m manager.Manager) error {
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return builder.ControllerManagedBy(m).
		Named("nodes").
		Watches(&v1alpha1.GPUNode{}, everything, builder.WithPredicates(predicate.Funcs{UpdateFunc: news})).
		Watches(&v1alpha1.SharingPolicy{}, everything).
		Complete(c)
}

// news says whether a node says something new of its policies. Claims come and go
// in its report far more often.
func news(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.GPUNode)
	after, also := e.ObjectNew.(*v1alpha1.GPUNode)
	return !ok || !also || !equality.Semantic.DeepEqual(before.Status.Policies, after.Status.Policies)
}

// Reconcile makes one pass.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	// 1 read
	var nodes v1alpha1.GPUNodeList
	if err := c.client.List(ctx, &nodes); err != nil {
		return reconcile.Result{}, fmt.Errorf("list GPUNodes: %w", err)
	}
	var policies v1alpha1.SharingPolicyList
	if err := c.client.List(ctx, &policies); err != nil {
		return reconcile.Result{}, fmt.Errorf("list SharingPolicies: %w", err)
	}
	// 2 decide
	of := sums(nodes.Items)
	now := c.clock.Now()
	var again time.Duration
	var due []*v1alpha1.SharingPolicy
	known := map[string]time.Time{}
	for i := range policies.Items {
		p := &policies.Items[i]
		if at, ok := c.written[p.Name]; ok {
			known[p.Name] = at
		}
		if !of[p.Name].differs(p) {
			continue
		}
		if wait := pace - now.Sub(c.written[p.Name]); wait > 0 {
			again = max(again, wait)
			continue
		}
		due = append(due, p)
	}
	c.written = known
	// 3 write
	var errs []error
	for _, p := range due {
		if err := c.write(ctx, p, of[p.Name]); err != nil {
			errs = append(errs, err)
			continue
		}
		c.written[p.Name] = now
	}
	return reconcile.Result{RequeueAfter: again}, errors.Join(errs...)
}

func (c *Controller) write(ctx context.Context, p *v1alpha1.SharingPolicy, s sum) error {
	after := p.DeepCopy()
	after.Status.NodesMatched, after.Status.NodesLost = s.matched, s.lost
	// Two integers that nobody else writes: what else is in the status stays.
	if err := c.client.Status().Patch(ctx, after, client.MergeFrom(p), client.FieldOwner(FieldOwner)); err != nil {
		return fmt.Errorf("write the figures of SharingPolicy %q: %w", p.Name, client.IgnoreNotFound(err))
	}
	return nil
}
