// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"errors"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Controller keeps the DeviceClasses as classes and policies say. Its requests
// have no content: each is about everything.
type Controller struct {
	client client.Client
	live   client.Reader
	clock  clock.PassiveClock
	known  memory
	drops  drops
}

// New returns the controller. Reads come from the client; what a deletion
// depends on is asked of live, which must not be a cache.
func New(c client.Client, live client.Reader, clk clock.PassiveClock) *Controller {
	return &Controller{client: c, live: live, clock: clk, known: memory{compile: Compile}, drops: drops{}}
}

// Register has the manager run the controller whenever a GPUClass, a
// SharingPolicy or a DeviceClass changes.
func (c *Controller) Register(m manager.Manager) error {
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return builder.ControllerManagedBy(m).
		Named("classes").
		Watches(&v1alpha1.GPUClass{}, everything).
		Watches(&v1alpha1.SharingPolicy{}, everything).
		Watches(&resourceapi.DeviceClass{}, everything).
		Complete(c)
}

// Reconcile makes one pass. What the API server refuses of one object does not
// keep the others from being written.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	// 1 read
	world, err := gather(ctx, c.client)
	if err != nil {
		return reconcile.Result{}, err
	}
	var again time.Duration
	world.Dropped, again = c.drops.at(c.clock.Now())
	// 2 decide
	c.known.turn()
	p := decide(world, c.known.check)
	// 3 write: what goes, what comes, and which classes may go now
	done := &outcome{refused: map[string]error{}, dropped: map[string]bool{}}
	c.withdraw(ctx, p.Withdraw, done)
	c.program(ctx, p.Program, done)
	c.release(ctx, p.Release, done)
	// 4 say so, unless the cache was behind: then another pass is on its way
	if !done.behind {
		c.report(ctx, p.correct(done), done)
	}
	if len(done.dropped) > 0 {
		again = askAgain
	}
	return reconcile.Result{RequeueAfter: again}, errors.Join(done.errs...)
}
