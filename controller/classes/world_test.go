// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	resourceac "k8s.io/client-go/applyconfigurations/resource/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// cluster is a fake API server with the controller on it.
type cluster struct {
	t *testing.T
	client.Client
	controller *Controller
	clock      *testclock.FakeClock
	// writes are those of the controller, in order.
	writes []string
	// before is called before each write and may refuse it.
	before func(write string) error
	// drops has the API server drop extended resource names, as one does whose
	// feature gate DRAExtendedResource is off.
	drops bool
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{resourceapi.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{t: t, clock: testclock.NewFakeClock(epoch)}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.GPUClass{}, &v1alpha1.SharingPolicy{}).Build()
	c.Client = store
	c.controller = New(c.counting(store), store, c.clock)
	return c
}

// counting is the store as the controller has it.
func (c *cluster) counting(store client.WithWatch) client.WithWatch {
	write := func(verb string, o any) error {
		w := fmt.Sprintf("%s %T", verb, o)
		if m, ok := o.(metav1.Object); ok {
			w = fmt.Sprintf("%s %T %s", verb, o, m.GetName())
		}
		c.writes = append(c.writes, w)
		if c.before != nil {
			return c.before(w)
		}
		return nil
	}
	return interceptor.NewClient(store, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := write("create", o); err != nil {
				return err
			}
			if d, ok := o.(*resourceapi.DeviceClass); ok && c.drops {
				d.Spec.ExtendedResourceName = nil
			}
			return w.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := write("delete", o); err != nil {
				return err
			}
			return w.Delete(ctx, o, opts...)
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return fmt.Errorf("an update would write back what the cache stripped")
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := write("patch", o); err != nil {
				return err
			}
			return w.Patch(ctx, o, p, opts...)
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := write("apply", o); err != nil {
				return err
			}
			if d, ok := o.(*resourceac.DeviceClassApplyConfiguration); ok && c.drops {
				d.Spec.ExtendedResourceName = nil
			}
			return w.Apply(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := write(sub, o); err != nil {
				return err
			}
			return w.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}

// settle makes passes until one writes nothing, as the events of writes would.
func (c *cluster) settle() {
	c.t.Helper()
	const enough = 10
	for range enough {
		n := len(c.writes)
		if _, err := c.controller.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
			c.t.Fatal(err)
		}
		if len(c.writes) == n {
			return
		}
	}
	c.t.Fatalf("still writing after %d passes: %v", enough, c.writes)
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// create creates an object as an API server does: with a UID and a generation.
func (c *cluster) create(o client.Object) {
	c.t.Helper()
	o.SetUID(types.UID("uid-of-" + o.GetName()))
	o.SetGeneration(1)
	c.must(c.Create(c.t.Context(), o))
}

// edit changes a policy.
func (c *cluster) edit(name string, change func(*v1alpha1.SharingPolicy)) {
	c.t.Helper()
	var p v1alpha1.SharingPolicy
	c.must(c.Get(c.t.Context(), client.ObjectKey{Name: name}, &p))
	change(&p)
	p.Generation++
	c.must(c.Update(c.t.Context(), &p))
}

// deviceClass returns a DeviceClass, or nil if there is none.
func (c *cluster) deviceClass(name string) *resourceapi.DeviceClass {
	c.t.Helper()
	var d resourceapi.DeviceClass
	err := c.Get(c.t.Context(), client.ObjectKey{Name: name}, &d)
	if client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return &d
}

// conditions of a class or policy must have these reasons, must be about its
// present generation, and must be True exactly where the reason is the type.
func (c *cluster) conditions(o client.Object, accepted, programmed string) {
	c.t.Helper()
	c.must(c.Get(c.t.Context(), client.ObjectKeyFromObject(o), o))
	var observed int64
	var have []metav1.Condition
	switch o := o.(type) {
	case *v1alpha1.GPUClass:
		observed, have = o.Status.ObservedGeneration, o.Status.Conditions
	case *v1alpha1.SharingPolicy:
		observed, have = o.Status.ObservedGeneration, o.Status.Conditions
	}
	if observed != o.GetGeneration() {
		c.t.Errorf("%s: observedGeneration is %d of %d", o.GetName(), observed, o.GetGeneration())
	}
	for kind, reason := range map[string]string{Accepted: accepted, Programmed: programmed} {
		got := meta.FindStatusCondition(have, kind)
		switch {
		case got == nil:
			c.t.Errorf("%s has no condition %s", o.GetName(), kind)
		case got.Reason != reason || (got.Status == metav1.ConditionTrue) != (reason == kind) || got.ObservedGeneration != o.GetGeneration():
			c.t.Errorf("%s: %s is %s, %s, of generation %d; want reason %s: %s", o.GetName(), kind, got.Status, got.Reason, got.ObservedGeneration, reason, got.Message)
		}
	}
}

// since is when a condition last changed.
func (c *cluster) since(class, kind string) time.Time {
	c.t.Helper()
	var o v1alpha1.GPUClass
	c.must(c.Get(c.t.Context(), client.ObjectKey{Name: class}, &o))
	cond := meta.FindStatusCondition(o.Status.Conditions, kind)
	if cond == nil {
		c.t.Fatalf("%s has no condition %s", class, kind)
	}
	return cond.LastTransitionTime.UTC()
}
