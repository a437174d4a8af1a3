// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package scheduler allocates devices to claims as the scheduler of Kubernetes
// does on one node, with its own allocator as a library. Only tests import it.
package scheduler

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Features are those of the allocator in a scheduler of Kubernetes 1.37 with its
// default gates.
var Features = structured.Features{
	AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
	DeviceBindingAndStatus: true, ConsumableCapacity: true, FractionalCapacityRange: true,
}

// celCacheSize is more than the expressions of a test.
const celCacheSize = 64

// Classes are the DeviceClasses of a cluster, by name.
type Classes map[string]*resourceapi.DeviceClass

// List implements the allocator's lister.
func (l Classes) List() ([]*resourceapi.DeviceClass, error) {
	var out []*resourceapi.DeviceClass
	for _, c := range l {
		out = append(out, c)
	}
	return out, nil
}

// Get implements the allocator's lister.
func (l Classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if c, ok := l[name]; ok {
		return c, nil
	}
	return nil, fmt.Errorf("there is no DeviceClass %s", name)
}

// Class is a DeviceClass with one CEL expression.
func Class(name, expression string) *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{{
			CEL: &resourceapi.CELDeviceSelector{Expression: expression},
		}}},
	}
}

// Scheduler allocates on one node. Make it with New.
type Scheduler struct {
	node    *corev1.Node
	classes Classes
	cache   *dracel.Cache
}

// New returns the scheduler of a node.
func New(node string, classes Classes) *Scheduler {
	return &Scheduler{
		node:    &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}},
		classes: classes,
		cache:   dracel.NewCache(celCacheSize, dracel.Features{EnableConsumableCapacity: true}),
	}
}

// Allocate returns the allocation of a claim beside those of the others, or nil
// when it does not fit. It changes no argument.
func (s *Scheduler) Allocate(ctx context.Context, slices []*resourceapi.ResourceSlice, others []*resourceapi.ResourceClaim, claim *resourceapi.ResourceClaim) (*resourceapi.AllocationResult, error) {
	return s.AllocateBeside(ctx, slices, State(others), claim)
}

// AllocateBeside is Allocate for a caller who keeps the state himself, as the
// scheduler does. It changes no argument.
func (s *Scheduler) AllocateBeside(ctx context.Context, slices []*resourceapi.ResourceSlice, state structured.AllocatedState, claim *resourceapi.ResourceClaim) (*resourceapi.AllocationResult, error) {
	a, err := structured.NewAllocator(ctx, Features, state, s.classes, slices, s.cache)
	if err != nil {
		return nil, err
	}
	got, err := a.Allocate(ctx, s.node, []*resourceapi.ResourceClaim{claim})
	if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
		return nil, fmt.Errorf("allocate %s: %w", claim.Name, err)
	}
	if len(got) == 0 {
		return nil, nil
	}
	return &got[0], nil
}

// State is what claims have of devices. Admin access has nothing.
func State(claims []*resourceapi.ResourceClaim) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, c := range claims {
		if c.Status.Allocation == nil {
			continue
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			device := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
			switch {
			case r.AdminAccess != nil && *r.AdminAccess:
			case r.ShareID != nil:
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device, r.ShareID))
				if r.ConsumedCapacity != nil {
					state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(device, r.ConsumedCapacity))
				}
			default:
				state.AllocatedDevices.Insert(device)
			}
		}
	}
	return state
}

// Claim is a claim with these requests.
func Claim(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: requests}},
	}
}

// Request asks for count devices of a class that meet the conditions.
func Request(name, class string, count int64, conditions ...string) resourceapi.DeviceRequest {
	exactly := &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
	}
	for _, c := range conditions {
		exactly.Selectors = append(exactly.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: c}})
	}
	return resourceapi.DeviceRequest{Name: name, Exactly: exactly}
}
