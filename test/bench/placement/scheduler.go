// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

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

	"github.com/cotenant-dev/cotenant/api"
)

// features are those of the allocator in a scheduler of Kubernetes 1.37 with its
// default gates.
var features = structured.Features{
	AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true,
	DeviceBindingAndStatus: true, ConsumableCapacity: true, FractionalCapacityRange: true,
}

// celCacheSize is more than the expressions of one cluster here; what a miss
// costs is not measured.
const celCacheSize = 64

// scheduler places claims as the one of Kubernetes does on one node: a new
// allocator for each claim, over everything that is published and allocated.
type scheduler struct {
	*table
	published
	node    *corev1.Node
	classes classList
	cache   *dracel.Cache
	taken   sets.Set[structured.DeviceID]
	// names are the device names of what was placed.
	names map[slot]string
}

func newScheduler(t *table, p published, classes classList) *scheduler {
	return &scheduler{
		table: t, published: p, classes: classes,
		node:  &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}},
		cache: dracel.NewCache(celCacheSize, dracel.Features{EnableConsumableCapacity: true}),
		taken: sets.New[structured.DeviceID](),
		names: map[slot]string{},
	}
}

// find returns the device that the claim would get, "" when there is none.
func (s *scheduler) find(ctx context.Context, claim *resourceapi.ResourceClaim) (string, error) {
	state := structured.AllocatedState{
		AllocatedDevices:         s.taken,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	a, err := structured.NewAllocator(ctx, features, state, s.classes, s.slices, s.cache)
	if err != nil {
		return "", err
	}
	got, err := a.Allocate(ctx, s.node, []*resourceapi.ResourceClaim{claim})
	if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
		return "", fmt.Errorf("allocate %s: %w", claim.Name, err)
	}
	if len(got) == 0 {
		return "", nil
	}
	return got[0].Devices.Results[0].Device, nil
}

// place allocates a claim for the profile's own class.
func (s *scheduler) place(ctx context.Context, profile int) (slot, bool, error) {
	class := className(s.name(profile))
	device, err := s.find(ctx, oneOf(class))
	if err != nil || device == "" {
		return slot{}, false, err
	}
	at, ok := s.slots[device]
	if !ok {
		return slot{}, false, fmt.Errorf("a claim for %s got %s", class, device)
	}
	s.taken.Insert(structured.MakeDeviceID(api.DriverName, nodeName, device))
	s.names[at] = device
	return at, true, nil
}

func (s *scheduler) release(at slot) {
	s.taken.Delete(structured.MakeDeviceID(api.DriverName, nodeName, s.names[at]))
	delete(s.names, at)
}

// oneOf is a claim for one device of a class, with more conditions on it.
func oneOf(class string, selectors ...string) *resourceapi.ResourceClaim {
	request := &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
	}
	for _, s := range selectors {
		request.Selectors = append(request.Selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: s}})
	}
	return &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: class, Namespace: "default", UID: "1"},
		Spec:       resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "gpu", Exactly: request}}}},
	}
}
