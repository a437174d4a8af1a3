// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"fmt"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/test/scheduler"
)

// classes are those of the upstream driver, as its users' selectors expect them.
var classes = scheduler.Classes{
	"gpu.nvidia.com": scheduler.Class("gpu.nvidia.com", `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'`),
	"mig.nvidia.com": scheduler.Class("mig.nvidia.com", `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'`),
	"share":          scheduler.Class("share", `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu-share'`),
}

// slice asks for count partitions of a profile.
func slice(name, profile string, count int64) resourceapi.DeviceRequest {
	return scheduler.Request(name, "mig.nvidia.com", count, fmt.Sprintf(`device.attributes['gpu.nvidia.com'].profile == '%s'`, profile))
}

// wholes asks for count whole GPUs.
func wholes(name string, count int64) resourceapi.DeviceRequest {
	return scheduler.Request(name, "gpu.nvidia.com", count)
}

// published are the node's slices.
func (n *node) published() []*resourceapi.ResourceSlice {
	n.t.Helper()
	var out []*resourceapi.ResourceSlice
	for _, s := range n.slices() {
		out = append(out, s.DeepCopy())
	}
	return out
}

// schedule has the scheduler allocate a claim from what is published now. It is
// nil when the claim does not fit.
func (n *node) schedule(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaim {
	n.t.Helper()
	got, err := scheduler.New(n.name, classes).Allocate(context.Background(), n.published(), n.allClaims(), scheduler.Claim(name, requests...))
	ok(n.t, err)
	if got == nil {
		return nil
	}
	return n.allocate(name, got.Devices.Results, nil)
}

// allClaims are those of the API server.
func (n *node) allClaims() []*resourceapi.ResourceClaim {
	n.t.Helper()
	list, err := n.client.ResourceV1().ResourceClaims("").List(context.Background(), metav1.ListOptions{})
	ok(n.t, err)
	var out []*resourceapi.ResourceClaim
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

// where are the devices of a claim as "profile id@start" or the GPU's name, in
// that order; nil for a claim that did not fit.
func where(c *resourceapi.ResourceClaim) []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, r := range c.Status.Allocation.Devices.Results {
		out = append(out, placeOf(r.Device))
	}
	slices.Sort(out)
	return out
}

// placeOf is "profile id@start" of a partition's name, or the GPU's name.
func placeOf(device string) string {
	parts := strings.Split(device, "-")
	if len(parts) == 2 {
		return device
	}
	return parts[len(parts)-2] + "@" + parts[len(parts)-1]
}

// finish ends a claim: on the node, and in the API server.
func (n *node) finish(c *resourceapi.ResourceClaim) {
	n.t.Helper()
	ok(n.t, n.U(c))
	n.deleteClaim(c)
}
