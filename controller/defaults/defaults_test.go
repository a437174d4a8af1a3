// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

const namespace = "nvidia-dra-driver-gpu"

var errDied = errors.New("the controller died")

// cluster is a fake API server whose client dies at a write.
type cluster struct {
	t     *testing.T
	store client.WithWatch
	// dieAt is the write, counted from 1, at which the client dies; 0 is never.
	// after says whether the write has taken effect by then.
	dieAt  int
	after  bool
	writes []string
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, store: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
}

// run is one life of the controller.
func (c *cluster) run() error {
	writer := interceptor.NewClient(c.store, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return c.write("create", o, func() error { return w.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return c.write("update", o, func() error { return w.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return c.write("patch", o, func() error { return w.Patch(ctx, o, p, opts...) })
		},
	})
	c.writes = nil
	return New(writer, c.store, namespace).Create(c.t.Context())
}

func (c *cluster) write(verb string, o client.Object, effect func() error) error {
	c.writes = append(c.writes, fmt.Sprintf("%s %T %s", verb, o, o.GetName()))
	dies := len(c.writes) == c.dieAt
	if dies && !c.after {
		return errDied
	}
	if err := effect(); err != nil || !dies {
		return err
	}
	return errDied
}

// lives runs the controller until it has nothing left to do.
func (c *cluster) lives() {
	c.t.Helper()
	c.dieAt = 0
	if err := c.run(); err != nil {
		c.t.Fatal(err)
	}
}

// names are the classes and policies there are; one that is going is marked.
func (c *cluster) names() map[string]bool {
	c.t.Helper()
	found := map[string]bool{}
	var classes v1alpha1.GPUClassList
	var policies v1alpha1.SharingPolicyList
	if err := errors.Join(c.store.List(c.t.Context(), &classes), c.store.List(c.t.Context(), &policies)); err != nil {
		c.t.Fatal(err)
	}
	for _, o := range classes.Items {
		found["GPUClass "+o.Name] = true
	}
	for _, o := range policies.Items {
		found["SharingPolicy "+o.Name] = true
	}
	return found
}

var everything = map[string]bool{"GPUClass gpu.nvidia.com": true, "GPUClass mig.nvidia.com": true, "SharingPolicy default": true}

func TestDefaultsAreCreatedOnce(t *testing.T) {
	c := newCluster(t)
	c.lives()
	if diff := cmp.Diff(everything, c.names()); diff != "" {
		t.Fatalf("defaults (-want +got):\n%s", diff)
	}
	c.expectObjects()
	c.lives()
	if len(c.writes) > 0 {
		t.Errorf("the second start wrote %v", c.writes)
	}
	c.delete(&v1alpha1.SharingPolicy{}, "default")
	c.delete(&v1alpha1.GPUClass{}, "mig.nvidia.com")
	c.lives()
	if diff := cmp.Diff(map[string]bool{"GPUClass gpu.nvidia.com": true}, c.names()); diff != "" {
		t.Errorf("after the admin deleted two (-want +got):\n%s", diff)
	}
}

// expectObjects checks what is in the objects, and that they carry nothing of ours.
func (c *cluster) expectObjects() {
	c.t.Helper()
	var class v1alpha1.GPUClass
	var policy v1alpha1.SharingPolicy
	if err := errors.Join(
		c.store.Get(c.t.Context(), client.ObjectKey{Name: "gpu.nvidia.com"}, &class),
		c.store.Get(c.t.Context(), client.ObjectKey{Name: "default"}, &policy)); err != nil {
		c.t.Fatal(err)
	}
	if class.Spec.ExtendedResourceName != "nvidia.com/gpu" || len(class.Finalizers)+len(policy.Finalizers) > 0 {
		c.t.Errorf("extended resource %q, finalizers %v and %v", class.Spec.ExtendedResourceName, class.Finalizers, policy.Finalizers)
	}
	want := v1alpha1.SharingPolicySpec{Priority: -1000, Offers: []v1alpha1.Offer{
		{Name: "whole", ClassNames: []string{"gpu.nvidia.com"}, Device: v1alpha1.OfferDevice{Type: "GPU"}},
		{Name: "mig", ClassNames: []string{"mig.nvidia.com"}, Device: v1alpha1.OfferDevice{Type: "MIG", MIG: &v1alpha1.OfferMIG{Source: "Existing"}}},
	}}
	if diff := cmp.Diff(want, policy.Spec); diff != "" {
		c.t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func (c *cluster) delete(o client.Object, name string) {
	c.t.Helper()
	o.SetName(name)
	if err := c.store.Delete(c.t.Context(), o); client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) exists(o client.Object, name string) bool {
	c.t.Helper()
	err := c.store.Get(c.t.Context(), client.ObjectKey{Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	return err == nil
}

// The controller dies at every write, before and after its effect. Nothing is
// lost, whatever of it an admin deletes before the next start stays deleted.
func TestDeathAtEveryWrite(t *testing.T) {
	first := newCluster(t)
	first.lives()
	total := len(first.writes)
	if total < 7 {
		t.Fatalf("only %d writes: %v", total, first.writes)
	}
	for at := 1; at <= total; at++ {
		for _, after := range []bool{false, true} {
			when := fmt.Sprintf("%s of write %d, %s", map[bool]string{false: "before", true: "after"}[after], at, first.writes[at-1])
			t.Run(when+": completed", func(t *testing.T) {
				c := newCluster(t)
				c.die(at, after)
				c.lives()
				if diff := cmp.Diff(everything, c.names()); diff != "" {
					t.Errorf("defaults (-want +got):\n%s", diff)
				}
				c.expectObjects()
			})
			t.Run(when+": deletions stay", func(t *testing.T) {
				c := newCluster(t)
				c.die(at, after)
				want := map[string]bool{}
				for name := range everything {
					want[name] = true
				}
				if c.exists(&v1alpha1.GPUClass{}, "gpu.nvidia.com") {
					c.delete(&v1alpha1.GPUClass{}, "gpu.nvidia.com")
					delete(want, "GPUClass gpu.nvidia.com")
				}
				if c.exists(&v1alpha1.SharingPolicy{}, "default") {
					c.delete(&v1alpha1.SharingPolicy{}, "default")
					delete(want, "SharingPolicy default")
				}
				c.lives()
				if diff := cmp.Diff(want, c.names()); diff != "" {
					t.Errorf("what is there (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func (c *cluster) die(at int, after bool) {
	c.t.Helper()
	c.dieAt, c.after = at, after
	if err := c.run(); !errors.Is(err, errDied) {
		c.t.Fatalf("did not die: %v", err)
	}
}

// What an admin made before us under a name of ours is theirs.
func TestAnAdminWasThereFirst(t *testing.T) {
	theirs := &v1alpha1.SharingPolicy{}
	theirs.Name = "default"
	theirs.Spec.Priority = 7
	c := newCluster(t, theirs)
	c.lives()
	var got v1alpha1.SharingPolicy
	if err := c.store.Get(t.Context(), client.ObjectKey{Name: "default"}, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs.Spec, got.Spec); diff != "" || len(got.Finalizers) > 0 {
		t.Errorf("their policy changed, finalizers %v:\n%s", got.Finalizers, diff)
	}
	c.delete(&v1alpha1.SharingPolicy{}, "default")
	c.lives()
	if c.names()["SharingPolicy default"] {
		t.Error("their policy was created again after they deleted it")
	}
}

// A later release knows more defaults than the record does.
func TestRecordOfAnEarlierRelease(t *testing.T) {
	record := &corev1.ConfigMap{Data: map[string]string{"GPUClass.gpu.nvidia.com": created, "Other.thing": created}}
	record.Namespace, record.Name = namespace, RecordName
	c := newCluster(t, record)
	c.lives()
	want := map[string]bool{"GPUClass mig.nvidia.com": true, "SharingPolicy default": true}
	if diff := cmp.Diff(want, c.names()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	var got corev1.ConfigMap
	if err := c.store.Get(t.Context(), client.ObjectKeyFromObject(record), &got); err != nil {
		t.Fatal(err)
	}
	if got.Data["Other.thing"] != created {
		t.Errorf("what another release recorded is gone: %v", got.Data)
	}
}

// Start tries again until it succeeds, and ends with its context.
func TestStart(t *testing.T) {
	c := newCluster(t)
	failed := false
	flaky := interceptor.NewClient(c.store, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if !failed {
				failed = true
				return errors.New("no kind is known yet")
			}
			return w.Create(ctx, o, opts...)
		},
	})
	if err := New(flaky, c.store, namespace).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everything, c.names()); !failed || diff != "" {
		t.Errorf("failed once: %v; defaults (-want +got):\n%s", failed, diff)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := New(c.store, c.store, namespace).Start(ended); err != nil {
		t.Errorf("the end of the context is an error: %v", err)
	}
}
