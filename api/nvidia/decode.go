// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/cotenant-dev/cotenant/api"
)

// Decode reads one configuration, strictly: a field that is unknown, written
// twice or in another case is an error. Every error is an *api.Error with the
// reason Invalid that names what was written.
func Decode(raw []byte) (Config, error) {
	kind, err := kindOf(raw)
	if err != nil {
		return Config{}, err
	}
	c := Config{Kind: kind}
	switch kind {
	case KindGPU:
		var in gpuConfig
		if err := strictly(raw, kind, &in); err != nil {
			return Config{}, err
		}
		if in.Sharing != nil {
			c.Sharing, err = in.Sharing.decoded()
		}
	case KindMIG:
		var in migConfig
		if err := strictly(raw, kind, &in); err != nil {
			return Config{}, err
		}
		if in.Sharing != nil {
			c.Sharing, err = sharingOf(in.Sharing.Strategy, in.Sharing.MPS)
		}
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// kindOf reads which of the kinds it is.
func kindOf(raw []byte) (Kind, error) {
	const supported = "supported are " + string(KindGPU) + " and " + string(KindMIG) + " of " + Version
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if t := strings.TrimLeft(string(raw), " \t\r\n"); t != "" && !strings.HasPrefix(t, "{") {
		return "", api.Errorf(api.Invalid, "the parameters are %s, not an object; %s", shown(t), supported)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		return "", api.Errorf(api.Invalid, "the parameters cannot be read: %s; %s", clip(err.Error(), maxText), supported)
	}
	if head.APIVersion != Version || head.Kind != string(KindGPU) && head.Kind != string(KindMIG) {
		return "", api.Errorf(api.Invalid, "the parameters have the kind %s and the apiVersion %s; %s", shown(head.Kind), shown(head.APIVersion), supported)
	}
	return Kind(head.Kind), nil
}

// strictly decodes all of the JSON into a struct, and names every field that has
// no place in it.
func strictly(raw []byte, kind Kind, into any) error {
	complaints, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		complaints = []error{err}
	}
	if len(complaints) == 0 {
		return nil
	}
	var texts []string
	for _, c := range complaints {
		texts = append(texts, c.Error())
	}
	return api.Errorf(api.Invalid, "%s: %s", kind, clip(strings.Join(texts, ", "), maxText))
}

func (s gpuSharing) decoded() (*Sharing, error) {
	out, err := sharingOf(s.Strategy, s.MPS)
	if err != nil {
		return nil, err
	}
	if out.Strategy == StrategyMPS {
		if s.TimeSlicing != nil {
			return nil, api.Errorf(api.Invalid, "cannot use TimeSlicingConfig with the '%s' strategy; remove timeSlicingConfig", StrategyMPS)
		}
		return out, nil
	}
	out.Interval = Default
	if s.TimeSlicing != nil && s.TimeSlicing.Interval != nil {
		out.Interval = Interval(*s.TimeSlicing.Interval)
	}
	if !out.Interval.known() {
		return nil, api.Errorf(api.Invalid, "unknown time-slice interval: %s, supported intervals: %s, %s, %s, %s", clip(string(out.Interval), maxShown), Default, Short, Medium, Long)
	}
	return out, nil
}

// sharingOf is what both kinds have in common.
func sharingOf(strategy string, m *mpsConfig) (*Sharing, error) {
	switch Strategy(strategy) {
	case StrategyTimeSlicing:
		if m != nil {
			return nil, api.Errorf(api.Invalid, "cannot use MpsConfig with the '%s' strategy; remove mpsConfig", StrategyTimeSlicing)
		}
		return &Sharing{Strategy: StrategyTimeSlicing}, nil
	case StrategyMPS:
		settings, err := m.decoded()
		if err != nil {
			return nil, err
		}
		return &Sharing{Strategy: StrategyMPS, MPS: settings}, nil
	}
	return nil, api.Errorf(api.Invalid, "unknown GPU sharing strategy: %s, supported GPU sharing strategies: %s, %s", clip(strategy, maxShown), StrategyTimeSlicing, StrategyMPS)
}

const (
	// maxShown is how much of a value is repeated in a message, in bytes.
	maxShown = 64
	// maxText is how long what a parser complains about may be.
	maxText = 512
)

func shown(s string) string { return fmt.Sprintf("%q", clip(s, maxShown)) }

// clip cuts a text that a tenant wrote to a length that fits a message, and
// leaves it valid UTF-8.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
