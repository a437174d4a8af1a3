// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// decode reads the part of a ResourceClaim that concerns this node. Results and
// configuration of other drivers are not looked at.
func decode(rc *resourceapi.ResourceClaim, pool string) (sharing.Claim, error) {
	c := sharing.Claim{UID: string(rc.UID), Namespace: rc.Namespace, Name: rc.Name}
	if rc.Status.Allocation == nil {
		return c, api.Errorf(api.Invalid, "claim %s/%s is not allocated", rc.Namespace, rc.Name)
	}
	devices := rc.Status.Allocation.Devices
	for _, r := range devices.Results {
		if r.Driver != api.DriverName {
			continue
		}
		if r.Pool != pool {
			return c, api.Errorf(api.Invalid, "claim %s/%s was allocated device %s of pool %s; this is node %s", rc.Namespace, rc.Name, r.Device, r.Pool, pool)
		}
		ask := sharing.Ask{Request: r.Request, Device: r.Device, Admin: r.AdminAccess != nil && *r.AdminAccess}
		if r.ShareID != nil {
			ask.Share = string(*r.ShareID)
		}
		c.Asks = append(c.Asks, ask)
	}
	for _, r := range rc.Status.ReservedFor {
		if r.APIGroup == "" && r.Resource == "pods" {
			c.Pods = append(c.Pods, sharing.Pod{Name: r.Name, UID: string(r.UID)})
		}
	}
	return c, configure(rc, c.Asks)
}
