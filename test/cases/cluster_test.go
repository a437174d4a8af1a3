// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"sync"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// gates is what the API server of a test keeps of what it is given.
type gates struct {
	mu         sync.Mutex
	version    string
	partitions bool
	shares     bool
}

func (g *gates) set(version string, partitions bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.version, g.partitions, g.shares = version, partitions, partitions
}

// serve has the clientset tell the version.
func (g *gates) serve(client *fake.Clientset) {
	client.PrependReactor("get", "version", func(clienttesting.Action) (bool, runtime.Object, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if d, ok := client.Discovery().(*fakediscovery.FakeDiscovery); ok {
			d.FakedServerVersion = &version.Info{GitVersion: g.version}
		}
		return true, nil, nil
	})
}

// admit drops what the gates do not let pass, in silence as the API server does.
// A dry run is answered and not stored.
func (g *gates) admit(a clienttesting.Action) (bool, runtime.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, ok := a.(clienttesting.CreateAction) // updates have the same methods
	if !ok {
		return false, nil
	}
	slice, ok := w.GetObject().(*resourceapi.ResourceSlice)
	if !ok {
		return false, nil
	}
	if !g.partitions {
		slice.Spec.SharedCounters = nil
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].ConsumesCounters = nil
		}
	}
	if !g.shares {
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].AllowMultipleAllocations = nil
			for name, c := range slice.Spec.Devices[i].Capacity {
				c.RequestPolicy = nil
				slice.Spec.Devices[i].Capacity[name] = c
			}
		}
	}
	create, ok := a.(clienttesting.CreateActionImpl)
	if ok && len(create.CreateOptions.DryRun) > 0 {
		return true, slice
	}
	return false, nil
}

// kinds are our own objects in the API server of a test.
type kinds struct {
	mu       sync.Mutex
	policies []v1alpha1.SharingPolicy
	watchers map[int]func([]v1alpha1.SharingPolicy)
	serial   int
	status   v1alpha1.GPUNodeStatus
	reports  int
}

// set replaces all policies.
func (k *kinds) set(policies ...v1alpha1.SharingPolicy) {
	k.mu.Lock()
	k.policies = policies
	var tell []func([]v1alpha1.SharingPolicy)
	for _, w := range k.watchers {
		tell = append(tell, w)
	}
	k.mu.Unlock()
	for _, w := range tell {
		w(policies)
	}
}

func (k *kinds) WatchPolicies(ctx context.Context, changed func([]v1alpha1.SharingPolicy)) {
	k.mu.Lock()
	if k.watchers == nil {
		k.watchers = map[int]func([]v1alpha1.SharingPolicy){}
	}
	k.serial++
	id := k.serial
	k.watchers[id] = changed
	now := k.policies
	k.mu.Unlock()
	changed(now)
	<-ctx.Done()
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.watchers, id)
}

func (k *kinds) Report(_ context.Context, _ string, s v1alpha1.GPUNodeStatus) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status = *s.DeepCopy()
	k.reports++
	return nil
}

// reported is the last report and how many there were.
func (k *kinds) reported() (v1alpha1.GPUNodeStatus, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return *k.status.DeepCopy(), k.reports
}
