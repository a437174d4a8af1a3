// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cotenant-dev/cotenant/api"
)

const (
	fieldOwner = "cotenant-controller"
	// finalizer is on a default from its creation until it is recorded.
	finalizer = api.Group + "/recording"
)

// Creator creates the defaults. It runs once, on the leader.
type Creator struct {
	client    client.Writer
	live      client.Reader
	namespace string
}

// New returns the creator. Nothing is read from a cache; the record is in the
// namespace.
func New(c client.Writer, live client.Reader, namespace string) *Creator {
	return &Creator{client: c, live: live, namespace: namespace}
}

// NeedLeaderElection makes the manager start it on the leader only.
func (*Creator) NeedLeaderElection() bool { return true }

// Start creates the defaults, and tries again for as long as the API server
// refuses.
func (c *Creator) Start(ctx context.Context) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 6, Cap: time.Minute}
	// Only the end of ctx ends this without success, and that is no error.
	_ = backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx)
		if err != nil {
			log.FromContext(ctx).Error(err, "The defaults are not complete; trying again")
		}
		return err == nil, nil
	})
	return nil
}

// Create creates what the record does not call created.
func (c *Creator) Create(ctx context.Context) error {
	all := objects()
	record, err := c.intend(ctx, all)
	if err != nil {
		return err
	}
	for _, o := range all {
		if record.Data[o.key] != created {
			if err := c.create(ctx, o); err != nil {
				return err
			}
			if err := c.settle(ctx, record, o); err != nil {
				return err
			}
		}
		if err := c.let(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// create creates an object. One that is there is left as it is.
func (c *Creator) create(ctx context.Context, o object) error {
	controllerutil.AddFinalizer(o.value, finalizer)
	err := c.client.Create(ctx, o.value, client.FieldOwner(fieldOwner))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s: %w", o.key, err)
	}
	if err == nil {
		log.FromContext(ctx).Info("Created a default", "object", o.key)
	}
	return nil
}

// let takes our finalizer off an object, if it is on it.
func (c *Creator) let(ctx context.Context, o object) error {
	err := c.live.Get(ctx, client.ObjectKeyFromObject(o.value), o.value)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key, err)
	}
	before := o.value.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(o.value, finalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, o.value, patch, client.FieldOwner(fieldOwner)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the finalizer off %s: %w", o.key, err)
	}
	return nil
}
