// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

var (
	policies = v1alpha1.GroupVersion().WithResource("sharingpolicies")
	gpuNodes = v1alpha1.GroupVersion().WithResource("gpunodes")
)

// server is client-go's fake, which does not have the kinds until it is told.
type server struct {
	*fake.FakeDynamicClient
	installed atomic.Bool
	// refused counts what was asked while the kind was missing.
	refused atomic.Int64

	mu       sync.Mutex
	watchers []watch.Interface
}

func newServer(objects ...runtime.Object) *server {
	s := &server{FakeDynamicClient: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{policies: "SharingPolicyList", gpuNodes: "GPUNodeList"}, objects...)}
	s.installed.Store(true)
	missing := apierrors.NewGenericServerResponse(404, "list", policies.GroupResource(), "", "404 page not found", 0, false)
	s.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		gone := !s.installed.Load()
		if gone {
			s.refused.Add(1)
		}
		return gone, nil, missing
	})
	s.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watch.Interface, error) {
		if !s.installed.Load() {
			return true, nil, missing
		}
		w, err := s.Tracker().Watch(a.GetResource(), a.GetNamespace())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = append(s.watchers, w)
		return true, w, err
	})
	return s
}

// vanish takes the kind away and ends the watches on it, as an API server does
// that starts anew without it.
func (s *server) vanish() {
	s.installed.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchers {
		w.Stop()
	}
}

// writes are the writes so far, as "verb resource/subresource".
func (s *server) writes() []string {
	var out []string
	for _, a := range s.Actions() {
		if slices.Contains([]string{"create", "update", "patch", "delete"}, a.GetVerb()) {
			out = append(out, a.GetVerb()+" "+a.GetResource().Resource+"/"+a.GetSubresource())
		}
	}
	return out
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// policy is one as the API server has it, with what is of no concern here.
func policy(t *testing.T, name string, priority int32) *unstructured.Unstructured {
	t.Helper()
	p := &v1alpha1.SharingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1, UID: "uid", CreationTimestamp: metav1.NewTime(time.Unix(1767225600, 0))}}
	p.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	p.Spec.Priority = priority
	p.Spec.Offers = []v1alpha1.Offer{{Name: "whole", ClassNames: []string{"gpu.nvidia.com"}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}}}
	p.Status.NodesMatched = 3
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	ok(t, err)
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("SharingPolicy"))
	return u
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
