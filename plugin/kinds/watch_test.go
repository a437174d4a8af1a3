// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/plugin/kinds"
)

// soon is more than an informer ever needs for what happens in this process; the
// first retry of a list that failed comes within two seconds.
const soon = 30 * time.Second

// told are the calls of WatchPolicies, each as "name:priority" of all policies.
type told struct {
	t     *testing.T
	calls chan []v1alpha1.SharingPolicy
}

// watched has WatchPolicies run until the test ends.
func watched(t *testing.T, s *server) told {
	t.Helper()
	w := told{t: t, calls: make(chan []v1alpha1.SharingPolicy, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		kinds.New(s).WatchPolicies(ctx, func(p []v1alpha1.SharingPolicy) { w.calls <- p })
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(soon):
			t.Error("WatchPolicies does not end with its context")
		}
	})
	return w
}

// await reads calls until one is about exactly these policies, and returns it and
// how many there were.
func (w told) await(want ...string) ([]v1alpha1.SharingPolicy, int) {
	w.t.Helper()
	timeout := time.After(soon)
	var last []string
	for n := 1; ; n++ {
		select {
		case p := <-w.calls:
			last = nil
			for _, p := range p {
				last = append(last, fmt.Sprintf("%s:%d", p.Name, p.Spec.Priority))
			}
			if slices.Equal(last, want) {
				return p, n
			}
		case <-timeout:
			w.t.Fatalf("told of %v, want %v", last, want)
		}
	}
}

func TestWatchPolicies(t *testing.T) {
	s := newServer(policy(t, "b", 1))
	w := watched(t, s)
	w.await("b:1")
	write := s.Resource(policies)
	_, err := write.Create(t.Context(), policy(t, "a", 2), metav1.CreateOptions{})
	ok(t, err)
	w.await("a:2", "b:1")
	_, err = write.Update(t.Context(), policy(t, "b", 7), metav1.UpdateOptions{})
	ok(t, err)
	got, _ := w.await("a:2", "b:7")
	want := policy(t, "b", 7)
	if got[1].CreationTimestamp.Unix() != want.GetCreationTimestamp().Unix() || len(got[1].Spec.Offers) != 1 || got[1].Spec.Offers[0].ClassNames[0] != "gpu.nvidia.com" {
		t.Errorf("what decides who owns a GPU is not all there: %+v", got[1])
	}
	if got[1].Status.NodesMatched != 0 || len(got[1].ManagedFields)+len(got[1].Annotations) != 0 {
		t.Errorf("kept beside it: status %+v, %v, %v", got[1].Status, got[1].ManagedFields, got[1].Annotations)
	}
	ok(t, write.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	w.await("a:2")
	ok(t, write.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	w.await()
}

// Nothing is published before the policies are known: that there are none is to
// be said too.
func TestWatchSaysThatThereAreNone(t *testing.T) {
	watched(t, newServer()).await()
}

// Every node sees every write to a policy, and those to its status are many. Each
// of them is followed here by a change that is told, so that it has been seen.
func TestWatchIgnoresStatus(t *testing.T) {
	const rounds = 10
	s := newServer(policy(t, "a", 1), policy(t, "b", 0))
	w := watched(t, s)
	_, calls := w.await("a:1", "b:0")
	for n := range rounds {
		p := policy(t, "a", 1)
		ok(t, unstructured.SetNestedField(p.Object, int64(100+n), "status", "nodesMatched"))
		p.SetResourceVersion(fmt.Sprint(10 + n))
		_, err := s.Resource(policies).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
		ok(t, err)
		_, err = s.Resource(policies).Update(t.Context(), policy(t, "b", int32(n+1)), metav1.UpdateOptions{})
		ok(t, err)
		_, more := w.await("a:1", fmt.Sprintf("b:%d", n+1))
		calls += more
	}
	// At first it may be told once for each and once for both.
	if calls > rounds+3 {
		t.Errorf("%d calls for %d changes and as many writes of a status", calls, rounds)
	}
}

// In a cluster without the kind there are no policies; once it is installed, they
// are seen.
func TestWatchBeforeTheKindIsInstalled(t *testing.T) {
	s := newServer(policy(t, "a", 1))
	s.installed.Store(false)
	w := watched(t, s)
	w.await()
	s.installed.Store(true)
	w.await("a:1")
	_, err := s.Resource(policies).Update(t.Context(), policy(t, "a", 2), metav1.UpdateOptions{})
	ok(t, err)
	w.await("a:2")
}

// A kind that vanishes takes no policy with it: GPUs must not change their owner
// because an API server does not serve it for a while.
func TestWatchWhenTheKindVanishes(t *testing.T) {
	s := newServer(policy(t, "a", 1))
	w := watched(t, s)
	w.await("a:1")
	s.vanish()
	for deadline := time.Now().Add(soon); s.refused.Load() < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody asks for the kind that is gone")
		}
	}
	s.installed.Store(true)
	_, err := s.Resource(policies).Update(t.Context(), policy(t, "a", 2), metav1.UpdateOptions{})
	ok(t, err)
	for {
		select {
		case got := <-w.calls:
			if len(got) != 1 {
				t.Fatalf("told of %d policies while the kind was gone", len(got))
			}
			if got[0].Spec.Priority == 2 {
				return
			}
		case <-time.After(soon):
			t.Fatal("the change after it is not told")
		}
	}
}

// A policy of another shape than this release knows changes nothing.
func TestWatchKeepsWhatItHasWhenOneCannotBeRead(t *testing.T) {
	s := newServer(policy(t, "a", 1))
	w := watched(t, s)
	w.await("a:1")
	bad := policy(t, "b", 1)
	ok(t, unstructured.SetNestedField(bad.Object, "many", "spec", "offers"))
	_, err := s.Resource(policies).Create(t.Context(), bad, metav1.CreateOptions{})
	ok(t, err)
	ok(t, s.Resource(policies).Delete(t.Context(), "b", metav1.DeleteOptions{}))
	_, err = s.Resource(policies).Update(t.Context(), policy(t, "a", 2), metav1.UpdateOptions{})
	ok(t, err)
	for {
		select {
		case got := <-w.calls:
			if len(got) != 1 || got[0].Name != "a" {
				t.Fatalf("told of %d policies, want a alone", len(got))
			}
			if got[0].Spec.Priority == 2 {
				return
			}
		case <-time.After(soon):
			t.Fatal("a sound change after it is not told")
		}
	}
}
