// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// The kinds of configuration that users of the upstream driver write.
const (
	configVersion = "resource.nvidia.com/v1beta1"
	gpuConfig     = "GpuConfig"
	migConfig     = "MigDeviceConfig"
)

// config is a configuration for our driver, as far as this release looks at it.
type config struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Sharing has the settings. Without it nothing is to be applied.
	Sharing *json.RawMessage `json:"sharing"`
}

// refuseSettings refuses settings that would have to be applied to a device of
// the claim: one that is silently not applied is worse than a clear error. What
// is about no device of the claim is skipped, as upstream does: a configuration
// without requests reaches devices of its own type only, one that names a request
// must fit it. Admin asks change no device, so nothing is applied for them.
func refuseSettings(rc *resourceapi.ResourceClaim, c sharing.Claim) error {
	asks := slices.DeleteFunc(slices.Clone(c.Asks), func(a sharing.Ask) bool { return a.Admin })
	if len(asks) == 0 {
		return nil
	}
	for _, given := range rc.Status.Allocation.Devices.Config {
		if given.Opaque == nil || given.Opaque.Driver != api.DriverName {
			continue
		}
		cfg, err := decodeConfig(given.Opaque.Parameters.Raw)
		if err != nil {
			return api.Errorf(api.Invalid, "claim %s/%s: configuration for driver %s (from %s): %w", rc.Namespace, rc.Name, api.DriverName, given.Source, err)
		}
		for _, a := range asks {
			reached, err := cfg.reaches(a, given.Requests)
			if err != nil {
				return err
			}
			if reached && cfg.Sharing != nil {
				return api.Errorf(api.Invalid, "claim %s/%s has a %s (from %s) with sharing settings for %s, which this release does not apply yet; remove them from the claim or its class", rc.Namespace, rc.Name, cfg.Kind, given.Source, a.Device)
			}
		}
	}
	return nil
}

// decodeConfig is strict: a misspelt key would pass for a setting.
func decodeConfig(raw []byte) (config, error) {
	var cfg config
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&cfg); err != nil {
		return cfg, err
	}
	if d.More() {
		return cfg, api.Errorf(api.Invalid, "there is something behind the object")
	}
	if cfg.APIVersion != configVersion || cfg.Kind != gpuConfig && cfg.Kind != migConfig {
		return cfg, api.Errorf(api.Invalid, "it is a %q of %q; supported are %s and %s of %s", cfg.Kind, cfg.APIVersion, gpuConfig, migConfig, configVersion)
	}
	return cfg, nil
}

// reaches says whether the configuration is about what was allocated for an ask.
func (cfg config) reaches(a sharing.Ask, requests []string) (bool, error) {
	named := slices.ContainsFunc(requests, func(r string) bool {
		// "main" names all alternatives of a prioritized list, "main/sub" one.
		return r == a.Request || strings.HasPrefix(a.Request, r+"/")
	})
	if len(requests) > 0 && !named {
		return false, nil
	}
	partition := sharing.IsPartition(a.Device)
	if partition == (cfg.Kind == migConfig) {
		return true, nil
	}
	if !named {
		return false, nil
	}
	kind := map[bool]string{true: api.TypeMIG, false: api.TypeGPU}[partition]
	return false, api.Errorf(api.Invalid, "a %s names request %s, which was allocated %s, a device of type %s; it cannot be applied to one", cfg.Kind, a.Request, a.Device, kind)
}
