// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// outcome collects what became of the writes of a pass.
type outcome struct {
	// behind: an object was not as the cache had it. Its event is on the way and
	// starts another pass, so there is nothing to retry.
	behind bool
	// refused is what the API server said about DeviceClasses, by class.
	refused map[string]error
	// dropped are the classes whose extended resource name the API server dropped.
	dropped map[string]bool
	errs    []error
}

// add notes how a write onto a version that was looked at ended.
func (o *outcome) add(doing string, err error) {
	switch {
	case err == nil:
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		o.behind = true
	default:
		o.errs = append(o.errs, fmt.Errorf("%s: %w", doing, err))
	}
}

// withdraw deletes DeviceClasses, exactly the versions that were looked at.
func (c *Controller) withdraw(ctx context.Context, gone []*resourceapi.DeviceClass, done *outcome) {
	for _, d := range gone {
		doing := fmt.Sprintf("delete DeviceClass %q", d.Name)
		asked, err := c.asked(ctx, d)
		switch {
		case err != nil:
			done.errs = append(done.errs, fmt.Errorf("%s: %w", doing, err))
		case asked:
			done.behind = true
		default:
			log.FromContext(ctx).Info("Deleting DeviceClass", "deviceClass", d.Name)
			done.add(doing, c.client.Delete(ctx, d, client.Preconditions{UID: &d.UID, ResourceVersion: &d.ResourceVersion}))
		}
	}
}

// asked says whether there is a GPUClass for the DeviceClass that the cache does
// not have yet. Every pod that waits for a DeviceClass feels its deletion, so the
// API server itself is asked.
func (c *Controller) asked(ctx context.Context, d *resourceapi.DeviceClass) (bool, error) {
	var class v1alpha1.GPUClass
	key := client.ObjectKey{Name: d.Name}
	if err := c.client.Get(ctx, key, &class); !apierrors.IsNotFound(err) {
		return false, err
	}
	err := c.live.Get(ctx, key, &class)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// program makes and changes DeviceClasses. The finalizer is on a class before
// anything is made for it.
func (c *Controller) program(ctx context.Context, changes []Change, done *outcome) {
	for _, change := range changes {
		if before := change.For.DeepCopy(); controllerutil.AddFinalizer(change.For, Finalizer) {
			err := c.client.Patch(ctx, change.For, lock(before), client.FieldOwner(FieldOwner))
			done.add(fmt.Sprintf("put the finalizer on GPUClass %q", before.Name), err)
			if err != nil {
				continue
			}
		}
		err := c.put(ctx, change)
		if err == nil {
			err = c.readBack(ctx, change.Want, done)
		}
		switch {
		case err == nil:
		case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
			done.behind = true
		default:
			done.refused[change.Want.Name] = err
			done.errs = append(done.errs, fmt.Errorf("write DeviceClass %q: %w", change.Want.Name, err))
		}
	}
}

// put makes a DeviceClass, or changes the version that was looked at. Making is
// a create and no apply: an apply would change what somebody else has made in
// the meantime.
func (c *Controller) put(ctx context.Context, change Change) error {
	l := log.FromContext(ctx).WithValues("deviceClass", change.Want.Name, "expression", change.Want.Expression)
	if change.Have == nil {
		l.Info("Creating DeviceClass")
		return c.client.Create(ctx, change.Want.object(), client.FieldOwner(FieldOwner))
	}
	l.Info("Changing DeviceClass")
	have, err := c.clear(ctx, change)
	if err != nil {
		return err
	}
	return c.client.Apply(ctx, change.Want.apply(have.ResourceVersion), client.FieldOwner(FieldOwner), client.ForceOwnership)
}

// clear takes out of a DeviceClass of ours what others put there and an apply
// leaves: config, which would give settings to every claim of the class, and an
// extended resource name. It returns the DeviceClass as it is then.
func (c *Controller) clear(ctx context.Context, change Change) (*resourceapi.DeviceClass, error) {
	have := change.Have.DeepCopy()
	have.Spec.Config = nil
	if change.Want.ExtendedResource == "" {
		have.Spec.ExtendedResourceName = nil
	}
	if len(change.Have.Spec.Config) == 0 && (have.Spec.ExtendedResourceName == nil) == (change.Have.Spec.ExtendedResourceName == nil) {
		return have, nil
	}
	return have, c.client.Patch(ctx, have, lock(change.Have), client.FieldOwner(FieldOwner))
}

// release lets classes go whose DeviceClass is gone, which the API server itself
// is asked: the cache may not have one that was just made.
func (c *Controller) release(ctx context.Context, classes []*v1alpha1.GPUClass, done *outcome) {
	for _, class := range classes {
		if !slices.Contains(class.Finalizers, Finalizer) {
			continue
		}
		doing := fmt.Sprintf("release GPUClass %q", class.Name)
		var d resourceapi.DeviceClass
		err := c.live.Get(ctx, client.ObjectKey{Name: class.Name}, &d)
		switch {
		case err == nil && ours(&d):
			done.behind = true
		case err != nil && !apierrors.IsNotFound(err):
			done.errs = append(done.errs, fmt.Errorf("%s: %w", doing, err))
		default:
			before := class.DeepCopy()
			controllerutil.RemoveFinalizer(class, Finalizer)
			done.add(doing, c.client.Patch(ctx, class, lock(before), client.FieldOwner(FieldOwner)))
		}
	}
}

// lock is a patch onto exactly the version that was looked at.
func lock(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}
