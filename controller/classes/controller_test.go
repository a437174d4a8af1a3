// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

func gpuClass(name, resource string) *v1alpha1.GPUClass { c := class(name, resource, 0); return &c }

func offering(name string, classes ...string) *v1alpha1.SharingPolicy {
	p := policy(name, classes...)
	return &p
}

func TestClassBecomesDeviceClass(t *testing.T) {
	c := newCluster(t)
	c.create(gpuClass("team.a", "example.com/gpu"))
	c.create(offering("p", "team.a"))
	c.settle()

	d := c.deviceClass("team.a")
	if d == nil {
		t.Fatal("there is no DeviceClass")
	}
	want := resourceapi.DeviceClassSpec{
		Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: "device.driver in ['gpu.nvidia.com'] && (" +
			"device.attributes['gpu.nvidia.com'].?type.orValue('') in ['gpu'] && " +
			"device.attributes['cotenant.dev'].?policy.orValue('default') in ['p'])"}}},
		ExtendedResourceName: new("example.com/gpu"),
	}
	if diff := cmp.Diff(want, d.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if d.Labels["app.kubernetes.io/managed-by"] != "cotenant" || d.Annotations["cotenant.dev/gpu-class"] != "team.a" {
		t.Errorf("nothing says whose it is: labels %v, annotations %v", d.Labels, d.Annotations)
	}
	c.conditions(gpuClass("team.a", ""), Accepted, Programmed)
	c.conditions(offering("p"), Accepted, Programmed)

	// The finalizer was there before there was anything to clean up.
	finalizer := slices.IndexFunc(c.writes, func(w string) bool { return strings.HasPrefix(w, "patch *v1alpha1.GPUClass") })
	created := slices.IndexFunc(c.writes, func(w string) bool { return strings.HasPrefix(w, "create *v1.DeviceClass") })
	if finalizer < 0 || created < finalizer {
		t.Errorf("the finalizer came at %d and the DeviceClass at %d in %v", finalizer, created, c.writes)
	}
}

func TestNothingIsWrittenAtRest(t *testing.T) {
	c := newCluster(t)
	c.create(gpuClass("a", "example.com/gpu"))
	c.create(gpuClass("b", "example.com/gpu"))
	c.create(gpuClass("unserved", ""))
	c.create(offering("p", "a", "b", "missing"))
	foreign := handmade("foreign", "")
	c.create(&foreign)
	c.create(gpuClass("foreign", ""))
	c.settle()
	c.writes = nil
	for range 3 {
		c.clock.Step(time.Hour)
		c.settle()
	}
	if len(c.writes) > 0 {
		t.Errorf("writes at rest: %v", c.writes)
	}
}

func TestForeignClassIsNeverTouched(t *testing.T) {
	mine := handmade("gpu.nvidia.com", "nvidia.com/gpu")
	c := newCluster(t)
	c.create(&mine)
	c.create(gpuClass("gpu.nvidia.com", "nvidia.com/gpu"))
	c.create(offering("p", "gpu.nvidia.com"))
	before := c.deviceClass("gpu.nvidia.com")
	untouched := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, c.deviceClass("gpu.nvidia.com")); diff != "" {
			t.Fatalf("%s, the foreign DeviceClass changed:\n%s", when, diff)
		}
	}
	c.settle()
	untouched("beside a GPUClass")
	c.conditions(gpuClass("gpu.nvidia.com", ""), Accepted, ForeignClass)
	c.conditions(offering("p"), Accepted, ClassNotProgrammed)

	c.must(c.Delete(t.Context(), gpuClass("gpu.nvidia.com", "")))
	c.settle()
	untouched("after the GPUClass was deleted")

	// Once it is out of the way, ours takes its place.
	c.create(gpuClass("gpu.nvidia.com", "nvidia.com/gpu"))
	c.must(c.Delete(t.Context(), &mine))
	c.settle()
	c.conditions(gpuClass("gpu.nvidia.com", ""), Accepted, Programmed)
	if d := c.deviceClass("gpu.nvidia.com"); d == nil || !ours(d) {
		t.Errorf("ours did not take its place: %v", d)
	}
}

// Somebody makes a DeviceClass of that name after the cache was read.
func TestForeignClassThatTheCacheDoesNotHave(t *testing.T) {
	c := newCluster(t)
	c.create(gpuClass("a", ""))
	mine := handmade("a", "")
	c.before = func(write string) error {
		if write == "create *v1.DeviceClass a" && c.deviceClass("a") == nil {
			c.create(&mine)
		}
		return nil
	}
	c.settle()
	if d := c.deviceClass("a"); d == nil || ours(d) || len(d.Labels) > 0 {
		t.Errorf("the foreign DeviceClass was taken over: %v", d)
	}
	c.conditions(gpuClass("a", ""), Accepted, ForeignClass)
}

// The marker is taken off ours after the cache was read: it is foreign then, and
// neither changed nor deleted.
func TestDeviceClassThatIsDisownedMeanwhile(t *testing.T) {
	cases := map[string]func(*cluster){
		"before a change": func(c *cluster) {
			c.edit("p", func(p *v1alpha1.SharingPolicy) { p.Spec.Offers[0].ClassNames = []string{"b"} })
		},
		"before a deletion": func(c *cluster) { c.must(c.Delete(t.Context(), gpuClass("a", ""))) },
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.create(gpuClass("a", ""))
			c.create(offering("p", "a"))
			c.settle()
			act(c)
			want := c.deviceClass("a").Spec
			c.before = func(string) error {
				c.before = nil
				d := c.deviceClass("a")
				d.Annotations = nil
				return c.Update(t.Context(), d)
			}
			c.settle()
			if d := c.deviceClass("a"); d == nil || ours(d) {
				t.Fatalf("a DeviceClass that was not ours any more is gone or ours again: %v", d)
			}
			if diff := cmp.Diff(want, c.deviceClass("a").Spec); diff != "" {
				t.Errorf("a DeviceClass that was not ours any more was changed:\n%s", diff)
			}
		})
	}
}

func TestClassIsDeleted(t *testing.T) {
	c := newCluster(t)
	c.create(gpuClass("a", ""))
	c.create(offering("p", "a"))
	c.settle()
	c.writes = nil
	c.must(c.Delete(t.Context(), gpuClass("a", "")))
	c.settle()
	if d := c.deviceClass("a"); d != nil {
		t.Errorf("the DeviceClass is still there: %v", d)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "a"}, &v1alpha1.GPUClass{}); !apierrors.IsNotFound(err) {
		t.Errorf("the GPUClass is still there: %v", err)
	}
	want := []string{"delete *v1.DeviceClass a", "status *v1alpha1.SharingPolicy p", "patch *v1alpha1.GPUClass a"}
	if diff := cmp.Diff(want, c.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	c.conditions(offering("p"), ClassNotFound, NotAccepted)
}

// A DeviceClass of ours whose class went without us.
func TestOrphanGoes(t *testing.T) {
	orphan := made("a", "")
	c := newCluster(t)
	c.create(&orphan)
	c.settle()
	if c.deviceClass("a") != nil {
		t.Error("the orphan is still there")
	}
}

func TestOfferComesAndGoes(t *testing.T) {
	c := newCluster(t)
	c.create(gpuClass("a", ""))
	c.settle()
	c.conditions(gpuClass("a", ""), Accepted, NoOffer)
	if matches(t, c.expression("a"), gpu(nil)) {
		t.Errorf("a class without offers selects a GPU: %s", c.expression("a"))
	}

	c.clock.Step(time.Minute)
	c.create(offering("default", "a"))
	c.settle()
	c.conditions(gpuClass("a", ""), Accepted, Programmed)
	if !matches(t, c.expression("a"), gpu(nil)) {
		t.Errorf("the offered GPU is not selected: %s", c.expression("a"))
	}
	if at := c.since("a", Programmed); !at.Equal(epoch.Add(time.Minute)) {
		t.Errorf("Programmed since %s", at)
	}
	if at := c.since("a", Accepted); !at.Equal(epoch) {
		t.Errorf("Accepted since %s", at)
	}

	c.edit("default", func(p *v1alpha1.SharingPolicy) { p.Spec.Offers[0].ClassNames = []string{"another"} })
	c.settle()
	c.conditions(gpuClass("a", ""), Accepted, NoOffer)
	c.conditions(offering("default"), ClassNotFound, NotAccepted)
	if matches(t, c.expression("a"), gpu(nil)) {
		t.Errorf("a GPU that is no longer offered is selected: %s", c.expression("a"))
	}
}

func (c *cluster) expression(name string) string {
	c.t.Helper()
	d := c.deviceClass(name)
	if d == nil {
		c.t.Fatalf("there is no DeviceClass %q", name)
	}
	return d.Spec.Selectors[0].CEL.Expression
}

// Two classes with one extended resource name: never two DeviceClasses with it.
func TestExtendedNameChangesHands(t *testing.T) {
	c := newCluster(t)
	old, young := class("old", "example.com/gpu", 0), class("young", "example.com/gpu", 1)
	c.create(&young)
	c.create(&old)
	c.before = func(string) error { c.oneHolder("example.com/gpu"); return nil }
	c.settle()
	c.conditions(gpuClass("old", ""), Accepted, NoOffer)
	c.conditions(gpuClass("young", ""), ExtendedResourceConflict, NotAccepted)
	if c.deviceClass("young") != nil {
		t.Error("the younger has a DeviceClass")
	}

	c.must(c.Delete(t.Context(), gpuClass("old", "")))
	c.settle()
	c.conditions(gpuClass("young", ""), Accepted, NoOffer)
	if c.deviceClass("old") != nil || c.deviceClass("young") == nil {
		t.Error("the name did not change hands")
	}
}

func (c *cluster) oneHolder(resource string) {
	c.t.Helper()
	var all resourceapi.DeviceClassList
	c.must(c.List(c.t.Context(), &all))
	n := 0
	for _, d := range all.Items {
		if d.Spec.ExtendedResourceName != nil && *d.Spec.ExtendedResourceName == resource {
			n++
		}
	}
	if n > 1 {
		c.t.Errorf("%d DeviceClasses have %s at once", n, resource)
	}
}

// What others do to a DeviceClass of ours is undone.
func TestDriftIsUndone(t *testing.T) {
	cases := map[string]func(*resourceapi.DeviceClass){
		"a selector more":    func(d *resourceapi.DeviceClass) { d.Spec.Selectors = append(d.Spec.Selectors, d.Spec.Selectors[0]) },
		"another expression": func(d *resourceapi.DeviceClass) { d.Spec.Selectors[0].CEL.Expression = "true" },
		"no selector":        func(d *resourceapi.DeviceClass) { d.Spec.Selectors = nil },
		"an extended name":   func(d *resourceapi.DeviceClass) { d.Spec.ExtendedResourceName = new("example.com/other") },
		"no label":           func(d *resourceapi.DeviceClass) { d.Labels = nil },
		"a config": func(d *resourceapi.DeviceClass) {
			d.Spec.Config = []resourceapi.DeviceClassConfiguration{{DeviceConfiguration: resourceapi.DeviceConfiguration{
				Opaque: &resourceapi.OpaqueDeviceConfiguration{Driver: "gpu.nvidia.com"}}}}
		},
	}
	for name, drift := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.create(gpuClass("a", ""))
			c.create(offering("p", "a"))
			c.settle()
			want := c.deviceClass("a")
			d := c.deviceClass("a")
			drift(d)
			c.must(c.Update(t.Context(), d, client.FieldOwner("somebody")))
			c.settle()
			got := c.deviceClass("a")
			got.ResourceVersion = want.ResourceVersion
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after a pass (-want +got):\n%s", diff)
			}
		})
	}
}

// What the API server refuses is said, is tried again, and harms nobody else.
func TestRefusedWrite(t *testing.T) {
	c := newCluster(t)
	c.create(gpuClass("a", ""))
	c.create(gpuClass("b", ""))
	c.create(offering("p", "a"))
	c.before = func(write string) error {
		if write == "create *v1.DeviceClass a" {
			return errors.New("quota exceeded")
		}
		return nil
	}
	if _, err := c.controller.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("the refusal was not returned, so nobody tries again")
	}
	c.conditions(gpuClass("a", ""), Accepted, WriteFailed)
	c.conditions(offering("p"), Accepted, ClassNotProgrammed)
	if c.deviceClass("b") == nil {
		t.Error("the other class has no DeviceClass")
	}
	c.before = nil
	c.settle()
	c.conditions(gpuClass("a", ""), Accepted, Programmed)
}

// The cache lags: a DeviceClass is there, and its class not yet. Or the class is
// going, and its DeviceClass is not there yet.
func TestDeletionAsksTheServer(t *testing.T) {
	t.Run("class not in the cache", func(t *testing.T) {
		c, stale := newCluster(t), newCluster(t)
		d := made("a", "")
		c.create(&d)
		d2 := made("a", "")
		stale.create(&d2)
		c.create(gpuClass("a", ""))
		stale.controller.live = c.Client
		stale.settle()
		if len(stale.writes) > 0 {
			t.Errorf("writes: %v", stale.writes)
		}
	})
	t.Run("DeviceClass not in the cache", func(t *testing.T) {
		c, stale := newCluster(t), newCluster(t)
		d := made("a", "")
		c.create(&d)
		gone := gpuClass("a", "")
		gone.Finalizers = []string{Finalizer}
		stale.create(gone)
		stale.must(stale.Delete(t.Context(), gone))
		stale.controller.live = c.Client
		stale.settle()
		if len(stale.writes) > 0 {
			t.Errorf("writes: %v", stale.writes)
		}
	})
}

// Before Kubernetes 1.36 the API server keeps no extended resource names by
// default, and says nothing. It is said, claims work, and nothing is written
// again and again.
func TestExtendedNameIsDropped(t *testing.T) {
	c := newCluster(t)
	c.drops = true
	c.create(gpuClass("a", "example.com/gpu"))
	c.create(offering("default", "a"))
	c.settle()
	c.conditions(gpuClass("a", ""), Accepted, ExtendedResourceDropped)
	c.conditions(offering("default"), Accepted, Programmed)
	if !matches(t, c.expression("a"), gpu(nil)) {
		t.Error("a claim of the class finds no GPU")
	}
	c.writes = nil
	c.clock.Step(askAgain - time.Second)
	c.settle()
	if len(c.writes) > 0 {
		t.Errorf("writes at rest: %v", c.writes)
	}
	result, err := c.controller.Reconcile(t.Context(), reconcile.Request{})
	if err != nil || result.RequeueAfter != time.Second {
		t.Errorf("it is asked again after %v, error %v", result.RequeueAfter, err)
	}

	// Another change is written even so.
	c.edit("default", func(p *v1alpha1.SharingPolicy) { p.Spec.Offers[0].ClassNames = []string{"b"} })
	c.settle()
	if matches(t, c.expression("a"), gpu(nil)) {
		t.Error("the offer is still there")
	}

	// The cluster was upgraded.
	c.drops = false
	c.clock.Step(askAgain)
	c.settle()
	c.conditions(gpuClass("a", ""), Accepted, NoOffer)
	if d := c.deviceClass("a"); resourceOf(d) != "example.com/gpu" {
		t.Errorf("the name is %q", resourceOf(d))
	}
}
