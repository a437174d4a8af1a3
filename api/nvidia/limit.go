// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cotenant-dev/cotenant/api"
)

// decoded returns the settings; of a missing mpsConfig, those that limit nothing.
func (m *mpsConfig) decoded() (*MPS, error) {
	out := &MPS{}
	if m == nil {
		return out, nil
	}
	out.ActiveThreads = m.ActiveThreads
	if p := m.ActiveThreads; p != nil && *p < 0 {
		return nil, api.Errorf(api.Invalid, "active thread percentage must not be negative: %d", *p)
	}
	if p := m.ActiveThreads; p != nil && *p > 100 {
		return nil, api.Errorf(api.Invalid, "active thread percentage must not be greater than 100: %d", *p)
	}
	if len(m.Memory) > 0 && string(m.Memory) != "null" {
		l, err := limitOf("defaultPinnedDeviceMemoryLimit", m.Memory)
		if err != nil {
			return nil, err
		}
		out.Memory = &l
	}
	for _, key := range slices.Sorted(maps.Keys(m.PerDevice)) {
		l, err := limitOf("defaultPerDevicePinnedMemoryLimit["+shown(key)+"]", m.PerDevice[key])
		if err != nil {
			return nil, err
		}
		if out.PerDevice == nil {
			out.PerDevice = map[string]Limit{}
		}
		out.PerDevice[key] = l
	}
	out.MultiUser = m.MultiUser != nil && *m.MultiUser
	return out, nil
}

// quantity is what resource.Quantity reads, as long as an amount of memory can
// get. Exponents are short: a quantity is multiplied out when it is looked at.
var quantity = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$`)

// limitOf reads an amount, which is a string or a number.
func limitOf(field string, raw json.RawMessage) (Limit, error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return Limit{}, api.Errorf(api.Invalid, "%s: %s", field, clip(err.Error(), maxText))
		}
	}
	trimmed := strings.TrimSpace(text)
	if !quantity.MatchString(trimmed) {
		return Limit{}, api.Errorf(api.Invalid, "%s: %s is not a quantity; write it like 10Gi", field, shown(text))
	}
	q, err := resource.ParseQuantity(trimmed)
	if err != nil {
		return Limit{}, api.Errorf(api.Invalid, "%s: %s is not a quantity: %w; write it like 10Gi", field, shown(text), err)
	}
	return Limit{MiB: mebibytes(q), Quantity: clip(text, maxShown)}, nil
}

// mebibytes rounds down, which a quantity itself does not; what is negative is 0.
func mebibytes(q resource.Quantity) int64 {
	if q.Sign() <= 0 {
		return 0
	}
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64 >> 20
	}
	v := q.Value()
	if q.CmpInt64(v) < 0 {
		v--
	}
	return v >> 20
}
