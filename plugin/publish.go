// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceslice"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// syncDelay is how soon slices that somebody else deleted or edited are put
// back. The kubelet deletes all of them at its start; the library's default of
// 30 s would leave the node without devices for that long.
const syncDelay = 500 * time.Millisecond

// retryEvery is the wait after the API server could not be reached.
const retryEvery = time.Second

// publisher keeps the node's ResourceSlices equal to what it was last told.
// Unchanged means unwritten.
//
// It runs the slice controller itself instead of through the kubelet plugin
// helper, for the shorter delay and because the helper keeps the UID of the Node
// for its life: when the Node object is replaced, the controller is too.
type publisher struct {
	client kubernetes.Interface
	node   string
	// dropped is called when the API server stored less than it was given.
	dropped func()

	serving sync.Mutex // held while the controller is replaced

	mu         sync.Mutex
	controller *resourceslice.Controller
	owner      types.UID
	want       []sharing.Slice
	generation int64
}

// set tells what to publish, one slice for each element.
func (p *publisher) set(slices []sharing.Slice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(slices) == 0 {
		// An empty pool says that the driver runs and has nothing to offer.
		slices = []sharing.Slice{{}}
	}
	old := p.want
	p.want = slices
	if p.controller != nil {
		p.updateLocked(old, slices)
	}
}

// again has the slices compared with the API server now.
func (p *publisher) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.controller != nil {
		p.controller.Update(p.resources(p.want))
	}
}

// serve publishes on behalf of the Node whose UID owner returns, from now on. It
// retries until it succeeds or the context ends.
func (p *publisher) serve(ctx context.Context, owner func() types.UID) {
	p.serving.Lock()
	defer p.serving.Unlock()
	for p.tryServe(ctx, owner()) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryEvery):
		}
	}
}

// tryServe is called by one goroutine at a time. It does not keep the others waiting while
// the API server answers.
func (p *publisher) tryServe(ctx context.Context, owner types.UID) error {
	p.mu.Lock()
	if p.controller != nil && p.owner == owner {
		p.mu.Unlock()
		return nil
	}
	old, want := p.controller, p.want
	p.controller = nil
	p.mu.Unlock()
	old.Stop()
	if want == nil {
		return errors.New("nothing observed yet")
	}
	found, err := p.claimSlices(ctx, owner)
	if err != nil {
		klog.FromContext(ctx).Info("Cannot read the slices of this node yet; trying again", "reason", err.Error())
		return err
	}
	p.mu.Lock()
	p.generation = resume(p.generation, found, want)
	initial := p.resources(want)
	p.mu.Unlock()
	delay := syncDelay
	controller, err := resourceslice.StartController(ctx, resourceslice.Options{
		DriverName:   api.DriverName,
		KubeClient:   p.client,
		Owner:        &resourceslice.Owner{APIVersion: "v1", Kind: "Node", Name: p.node, UID: owner},
		Resources:    initial,
		SyncDelay:    &delay,
		ErrorHandler: p.handleError,
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.controller, p.owner = controller, owner
	p.updateLocked(want, p.want) // what was set meanwhile
	return nil
}

// updateLocked tells the controller about a change from old to want.
func (p *publisher) updateLocked(old, want []sharing.Slice) {
	if n := differing(old, want); n > 0 {
		p.generation = next(p.generation, n, len(old) != len(want))
		p.controller.Update(p.resources(want))
	}
}

func (p *publisher) stop() {
	p.mu.Lock()
	controller := p.controller
	p.controller = nil
	p.mu.Unlock()
	controller.Stop()
}

func (p *publisher) resources(want []sharing.Slice) *resourceslice.DriverResources {
	pool := resourceslice.Pool{Generation: p.generation}
	for _, s := range want {
		pool.Slices = append(pool.Slices, resourceslice.Slice{Devices: s.Devices, SharedCounters: s.Counters})
	}
	return &resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{p.node: pool}}
}

// claimSlices returns this node's slices in the order of their names. Those that
// belong to an earlier Node object of this name are deleted: nobody else would,
// and their owner reference cannot be changed into the right one by an update of
// the devices.
func (p *publisher) claimSlices(ctx context.Context, owner types.UID) ([]resourceapi.ResourceSlice, error) {
	list, err := p.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		resourceapi.ResourceSliceSelectorDriver:   api.DriverName,
		resourceapi.ResourceSliceSelectorNodeName: p.node,
	}.String()})
	if err != nil {
		return nil, err
	}
	var found []resourceapi.ResourceSlice
	for _, s := range list.Items {
		p.atLeast(s.Spec.Pool.Generation)
		if ref := metav1.GetControllerOf(&s); ref != nil && ref.UID != owner {
			if err := p.client.ResourceV1().ResourceSlices().Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil {
				return nil, err
			}
			continue
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b resourceapi.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func (p *publisher) atLeast(generation int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.generation = max(p.generation, generation)
}

// resume returns the pool generation to go on with after a start. The number
// never falls, also when the slices of this node were deleted meanwhile.
func resume(known int64, found []resourceapi.ResourceSlice, want []sharing.Slice) int64 {
	if len(found) == 0 {
		return max(known, 1)
	}
	var have []sharing.Slice
	for _, s := range found {
		have = append(have, sharing.Slice{Devices: s.Spec.Devices, Counters: s.Spec.SharedCounters})
	}
	return next(known, differing(have, want), len(have) != len(want))
}

// next follows the slice controller's own rule: one changed slice is written
// under the generation it has, more of them, or another number of slices, need a
// new one.
func next(generation int64, differing int, recounted bool) int64 {
	if differing > 1 || recounted {
		return generation + 1
	}
	return generation
}

// differing counts the slices that are not the same in a and b.
func differing(a, b []sharing.Slice) int {
	n := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if !resourceslice.DevicesDeepEqual(a[i].Devices, b[i].Devices) || !equality.Semantic.DeepEqual(a[i].Counters, b[i].Counters) {
			n++
		}
	}
	return n
}

// handleError reports what the API server did not take. The controller goes on
// trying; a restart would not help. Fields that it dropped are news: what is
// published must not need them.
func (p *publisher) handleError(ctx context.Context, err error, msg string) {
	klog.FromContext(ctx).Error(err, "Publishing ResourceSlices", "doing", msg)
	var dropped *resourceslice.DroppedFieldsError
	if errors.As(err, &dropped) && p.dropped != nil {
		p.dropped()
	}
}
