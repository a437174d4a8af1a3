// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/sharing"
)

// given is a configuration for our driver, in the order of precedence.
type given struct {
	nvidia.Config
	requests []string
	group    int
}

// configure puts the settings that the claim's configurations have for a device to
// each ask. Those of the class come before those of the claim, in their order, and
// the last that reaches a device wins. One without requests reaches devices of its
// own type only; one that names a request must fit it. Admin asks change no device,
// so nothing is applied for them; a share is what its policy says.
func configure(rc *resourceapi.ResourceClaim, asks []sharing.Ask) error {
	if !slices.ContainsFunc(asks, func(a sharing.Ask) bool { return !a.Admin }) {
		return nil
	}
	configs, err := configsOf(rc)
	if err != nil {
		return err
	}
	for i := range asks {
		if asks[i].Admin {
			continue
		}
		for _, g := range configs {
			reached, err := g.reaches(asks[i])
			if err != nil {
				return api.Errorf(api.Invalid, "claim %s/%s: %w", rc.Namespace, rc.Name, err)
			}
			if !reached {
				continue
			}
			asks[i].Settings = nil
			if g.Sharing != nil {
				asks[i].Settings = &sharing.Settings{Sharing: *g.Sharing, Group: g.group}
			}
		}
	}
	return nil
}

// configsOf decodes the configurations for our driver and puts them in order.
func configsOf(rc *resourceapi.ResourceClaim) ([]given, error) {
	var class, claim []given
	for i, c := range rc.Status.Allocation.Devices.Config {
		if c.Source != resourceapi.AllocationConfigSourceClass && c.Source != resourceapi.AllocationConfigSourceClaim {
			return nil, api.Errorf(api.Invalid, "claim %s/%s: configuration %d has the source %q; it must be %s or %s",
				rc.Namespace, rc.Name, i, c.Source, resourceapi.AllocationConfigSourceClass, resourceapi.AllocationConfigSourceClaim)
		}
		if c.Opaque == nil || c.Opaque.Driver != api.DriverName {
			continue
		}
		decoded, err := nvidia.Decode(c.Opaque.Parameters.Raw)
		if err != nil {
			return nil, api.Errorf(api.Invalid, "claim %s/%s: configuration for driver %s (%s): %w", rc.Namespace, rc.Name, api.DriverName, c.Source, err)
		}
		g := given{Config: decoded, requests: c.Requests, group: i}
		if c.Source == resourceapi.AllocationConfigSourceClass {
			class = append(class, g)
		} else {
			claim = append(claim, g)
		}
	}
	return append(class, claim...), nil
}

// reaches says whether the configuration is about what was allocated for an ask.
func (g given) reaches(a sharing.Ask) (bool, error) {
	named := slices.ContainsFunc(g.requests, func(r string) bool {
		// "main" names all alternatives of a prioritized list, "main/sub" one.
		return r == a.Request || r == resourceclaim.BaseRequestRef(a.Request)
	})
	if len(g.requests) > 0 && !named {
		return false, nil
	}
	kind := sharing.TypeOf(a.Device)
	if kind == map[nvidia.Kind]string{nvidia.KindGPU: api.TypeGPU, nvidia.KindMIG: api.TypeMIG}[g.Kind] {
		return true, nil
	}
	switch {
	case !named:
		return false, nil
	case kind == api.TypeShare:
		return false, api.Errorf(api.Invalid, "a %s names request %s, which was allocated a share of a GPU (%s); how that is shared is its policy's to say: remove the configuration", g.Kind, a.Request, a.Device)
	}
	return false, api.Errorf(api.Invalid, "a %s names request %s, which was allocated %s, a device of type %s; it cannot be applied to one", g.Kind, a.Request, a.Device, kind)
}
