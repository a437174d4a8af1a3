// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// world is an API server with nodes and policies, a clock, and a count of writes.
type world struct {
	*testing.T
	client.Client
	clock  *testingclock.FakePassiveClock
	c      *Controller
	writes int
}

func newWorld(t *testing.T, policies ...string) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	ok(t, v1alpha1.AddToScheme(scheme))
	w := &world{T: t, clock: testingclock.NewFakePassiveClock(time.Unix(1_000_000, 0))}
	var objects []client.Object
	for _, name := range policies {
		objects = append(objects, &v1alpha1.SharingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.SharingPolicy{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, o ...client.SubResourcePatchOption) error {
			w.writes++
			return c.SubResource(sub).Patch(ctx, obj, p, o...)
		}}).Build()
	w.c = New(w.Client, w.clock)
	return w
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// node has a node report about its policies.
func (w *world) node(name string, policies ...v1alpha1.NodePolicy) {
	w.Helper()
	n := &v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_ = w.Delete(context.Background(), n.DeepCopy()) // it may be the first report
	n.Status.Policies = policies
	ok(w.T, w.Create(context.Background(), n))
}

func (w *world) pass() time.Duration {
	w.Helper()
	r, err := w.c.Reconcile(context.Background(), reconcile.Request{})
	ok(w.T, err)
	return r.RequeueAfter
}

// figures are "matched/lost" of a policy.
func (w *world) figures(policy string) string {
	w.Helper()
	var p v1alpha1.SharingPolicy
	ok(w.T, w.Get(context.Background(), client.ObjectKey{Name: policy}, &p))
	return fmt.Sprintf("%d/%d", p.Status.NodesMatched, p.Status.NodesLost)
}

func (w *world) want(policy, figures string, writes int) {
	w.Helper()
	if got := w.figures(policy); got != figures || w.writes != writes {
		w.Errorf("policy %s has figures %s after %d writes, want %s after %d", policy, got, w.writes, figures, writes)
	}
}

// A policy is lost on a node where others own every GPU that it selects; where
// its gpuSelector selects none it is not.
func TestFigures(t *testing.T) {
	w := newWorld(t, "wide", "narrow", "nowhere")
	w.node("n1", v1alpha1.NodePolicy{Name: "wide", GPUsOwned: 2, GPUsOutranked: 6}, v1alpha1.NodePolicy{Name: "narrow", GPUsOwned: 6})
	w.node("n2", v1alpha1.NodePolicy{Name: "wide", GPUsOutranked: 8}, v1alpha1.NodePolicy{Name: "narrow", GPUsOwned: 8})
	w.node("n3", v1alpha1.NodePolicy{Name: "wide"}, v1alpha1.NodePolicy{Name: "deleted", GPUsOwned: 1})
	w.pass()
	w.want("wide", "3/1", 2)
	w.want("narrow", "2/0", 2)
	w.want("nowhere", "0/0", 2)
	w.pass()
	w.want("wide", "3/1", 2) // unchanged is unwritten
}

// A rollout changes the figures with every node: they are written at most once a
// minute, and in the end they are right.
func TestPace(t *testing.T) {
	w := newWorld(t, "p")
	w.node("n0", v1alpha1.NodePolicy{Name: "p", GPUsOwned: 1})
	w.pass()
	w.want("p", "1/0", 1)
	var again time.Duration
	for i := range 30 {
		w.node(fmt.Sprintf("n%d", i+1), v1alpha1.NodePolicy{Name: "p", GPUsOwned: 1})
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		again = w.pass()
	}
	w.want("p", "1/0", 1)
	if again != 30*time.Second {
		t.Errorf("it looks again in %s, want the 30 s that are left of the minute", again)
	}
	w.clock.SetTime(w.clock.Now().Add(again))
	if again = w.pass(); again != 0 {
		t.Errorf("it looks again in %s with nothing left to write", again)
	}
	w.want("p", "31/0", 2)
}

// Claims that come and go on a node are no news.
func TestNews(t *testing.T) {
	node := func(holds int, owned int32) *v1alpha1.GPUNode {
		n := &v1alpha1.GPUNode{}
		n.Status.Policies = []v1alpha1.NodePolicy{{Name: "p", GPUsOwned: owned}}
		n.Status.GPUs = []v1alpha1.NodeGPU{{Name: "gpu-0", Holds: make([]v1alpha1.NodeHold, holds)}}
		return n
	}
	if news(event.UpdateEvent{ObjectOld: node(0, 1), ObjectNew: node(3, 1)}) {
		t.Error("a hold is news")
	}
	if !news(event.UpdateEvent{ObjectOld: node(0, 1), ObjectNew: node(0, 2)}) {
		t.Error("a GPU that changes its owner is no news")
	}
}
