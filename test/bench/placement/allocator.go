// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/test/scheduler"
)

// allocator places claims as the scheduler of Kubernetes does on one node: a new
// allocator for each claim, over everything that is published and allocated.
type allocator struct {
	*table
	published
	scheduler *scheduler.Scheduler
	taken     structured.AllocatedState
	// names are the device names of what was placed.
	names map[slot]string
}

func newAllocator(t *table, p published, classes scheduler.Classes) *allocator {
	return &allocator{
		table: t, published: p, scheduler: scheduler.New(nodeName, classes),
		taken: scheduler.State(nil), names: map[slot]string{},
	}
}

// find returns the device that the claim would get, "" when there is none.
func (a *allocator) find(ctx context.Context, claim *resourceapi.ResourceClaim) (string, error) {
	got, err := a.scheduler.AllocateBeside(ctx, a.slices, a.taken, claim)
	if err != nil || got == nil {
		return "", err
	}
	return got.Devices.Results[0].Device, nil
}

// place allocates a claim for the profile's own class.
func (a *allocator) place(ctx context.Context, profile int) (slot, bool, error) {
	class := className(a.name(profile))
	device, err := a.find(ctx, oneOf(class))
	if err != nil || device == "" {
		return slot{}, false, err
	}
	at, ok := a.slots[device]
	if !ok {
		return slot{}, false, fmt.Errorf("a claim for %s got %s", class, device)
	}
	a.taken.AllocatedDevices.Insert(structured.MakeDeviceID(api.DriverName, nodeName, device))
	a.names[at] = device
	return at, true, nil
}

func (a *allocator) release(at slot) {
	a.taken.AllocatedDevices.Delete(structured.MakeDeviceID(api.DriverName, nodeName, a.names[at]))
	delete(a.names, at)
}

// oneOf is a claim for one device of a class, with more conditions on it.
func oneOf(class string, conditions ...string) *resourceapi.ResourceClaim {
	return scheduler.Claim(class, scheduler.Request("gpu", class, 1, conditions...))
}
