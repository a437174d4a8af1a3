// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// gather reads the world from the cache.
func gather(ctx context.Context, r client.Reader) (World, error) {
	var classes v1alpha1.GPUClassList
	if err := r.List(ctx, &classes); err != nil {
		return World{}, fmt.Errorf("list GPUClasses: %w", err)
	}
	var policies v1alpha1.SharingPolicyList
	if err := r.List(ctx, &policies); err != nil {
		return World{}, fmt.Errorf("list SharingPolicies: %w", err)
	}
	var devices resourceapi.DeviceClassList
	if err := r.List(ctx, &devices); err != nil {
		return World{}, fmt.Errorf("list DeviceClasses: %w", err)
	}
	return World{Classes: classes.Items, Policies: policies.Items, DeviceClasses: devices.Items}, nil
}
