// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"reflect"
	"testing"

	"github.com/cotenant-dev/cotenant/api"
)

// Whatever a tenant writes, it is a configuration that is whole or a refusal.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `[]`, `"text"`, `{}`, gpu(`null`), gpu(`{}`), gpu(`null`) + `{}`,
		gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": null}}`),
		gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}`),
		gpu(`{"strategy": "MPS", "timeSlicingConfig": {}, "mpsConfig": {}}`),
		gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 50, "defaultPinnedDeviceMemoryLimit": 8e9, "defaultPerDevicePinnedMemoryLimit": {"0": "5Gi", "GPU-b": "-1"}, "multiUser": true}}`),
		gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": "1e999999999"}}`),
		mig(`{"strategy": "TimeSlicing", "timeSlicingConfig": {}}`),
		mig(`{"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {"": null}}}`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Decode(raw)
		again, err2 := Decode(raw)
		if !reflect.DeepEqual(c, again) || (err == nil) != (err2 == nil) {
			t.Fatalf("two answers: %+v, %v and %+v, %v", c, err, again, err2)
		}
		if err != nil {
			if api.ReasonOf(err) != api.Invalid || !reflect.DeepEqual(c, Config{}) || len(err.Error()) > 1024 {
				t.Fatalf("refused with %+v, %q", c, err)
			}
			return
		}
		whole(t, c)
	})
}

func whole(t *testing.T, c Config) {
	if c.Kind != KindGPU && c.Kind != KindMIG {
		t.Fatalf("kind %q", c.Kind)
	}
	s := c.Sharing
	if s == nil {
		return
	}
	sliced := s.Strategy == StrategyTimeSlicing
	if sliced == (s.MPS != nil) || !sliced && s.Strategy != StrategyMPS {
		t.Fatalf("sharing %+v", s)
	}
	if (s.Interval != "") != (sliced && c.Kind == KindGPU) || s.Interval != "" && !s.Interval.known() {
		t.Fatalf("interval %q of %+v", s.Interval, s)
	}
	if sliced {
		return
	}
	if a := s.MPS.ActiveThreads; a != nil && (*a < 0 || *a > 100) {
		t.Fatalf("threads %d", *a)
	}
	pinned, err := s.MPS.Pinned([]string{"GPU-b", "GPU-a"}, map[string]int64{"GPU-a": 81920})
	if err != nil && api.ReasonOf(err) != api.Invalid {
		t.Fatal(err)
	}
	for i, l := range pinned {
		if l.MiB < 1 || l.Position < i || l.Position > 1 || l.Position == 0 && l.MiB > 81920 {
			t.Fatalf("limits %+v", pinned)
		}
	}
}
