// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvidia

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestF10UnknownField(t *testing.T) {
	check(t, map[string]row{
		"misspelt": {raw: gpu(`{"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercent": 50}}`), says: []string{`unknown field "sharing.mpsConfig.defaultActiveThreadPercent"`}},
		"top":      {raw: `{"apiVersion": "` + Version + `", "kind": "GpuConfig", "futureKnob": 1}`, says: []string{`unknown field "futureKnob"`}},
	})
}

func TestF13EmptyTimeSliceBlock(t *testing.T) {
	check(t, map[string]row{
		"empty block":         {raw: gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {}}`), want: timeSliced(Default)},
		"null interval":       {raw: gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": null}}`), want: timeSliced(Default)},
		"null block":          {raw: gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": null}`), want: timeSliced(Default)},
		"null MPS block":      {raw: gpu(`{"strategy": "MPS", "mpsConfig": null}`), want: shared(MPS{})},
		"interval with MPS":   {raw: gpu(`{"strategy": "MPS", "timeSlicingConfig": {"interval": "Short"}}`), says: []string{"cannot use TimeSlicingConfig with the 'MPS' strategy"}},
		"MPS with time-slice": {raw: gpu(`{"strategy": "TimeSlicing", "mpsConfig": {}}`), says: []string{"cannot use MpsConfig with the 'TimeSlicing' strategy"}},
		"MPS on MIG likewise": {raw: mig(`{"strategy": "TimeSlicing", "mpsConfig": {}}`), says: []string{"cannot use MpsConfig with the 'TimeSlicing' strategy"}},
	})
}

func TestF17WrongVersionOrKind(t *testing.T) {
	supported := []string{"GpuConfig", "MigDeviceConfig", Version}
	check(t, map[string]row{
		"a: earlier group":    {raw: `{"apiVersion": "gpu.nvidia.com/v1alpha1", "kind": "GpuConfig"}`, says: append(supported, "gpu.nvidia.com/v1alpha1")},
		"b: earlier kind":     {raw: `{"apiVersion": "` + Version + `", "kind": "GpuClaimParameters"}`, says: append(supported, "GpuClaimParameters")},
		"c: no kind":          {raw: `{"apiVersion": "` + Version + `"}`, says: append(supported, `the kind ""`)},
		"d: a list":           {raw: `[]`, says: append(supported, `"[]"`)},
		"e: a text":           {raw: `"text"`, says: append(supported, "text")},
		"f: twice":            {raw: gpu(`null`) + `{}`, says: append(supported, "after top-level value")},
		"kind in other case":  {raw: `{"apiVersion": "` + Version + `", "kind": "gpuconfig"}`, says: append(supported, "gpuconfig")},
		"kind that is other":  {raw: `{"apiVersion": "` + Version + `", "kind": "VfioDeviceConfig"}`, says: append(supported, "VfioDeviceConfig")},
		"kind that is number": {raw: `{"apiVersion": "` + Version + `", "kind": 1}`, says: supported},
		"nothing":             {raw: ``, says: supported},
		"null":                {raw: `null`, says: supported},
		"cut short":           {raw: `{"apiVersion": "` + Version, says: supported},
	})
}

// on40GiB decodes a default limit, as it stands in the JSON, and applies it to a
// GPU of 40 GiB.
func on40GiB(quantity string) ([]PinnedLimit, error) {
	c, err := Decode([]byte(gpu(`{"strategy": "MPS", "mpsConfig": {"defaultPinnedDeviceMemoryLimit": ` + quantity + `}}`)))
	if err != nil {
		return nil, err
	}
	return c.Sharing.MPS.Pinned([]string{"GPU-a"}, map[string]int64{"GPU-a": 40960})
}

func TestF34MemoryLimitUnits(t *testing.T) {
	for quantity, want := range map[string]int64{
		`"10Gi"`: 10240, `"10G"`: 9536, `"1G"`: 953, `"1.5Gi"`: 1536, `"1500M"`: 1430, `"8e9"`: 7629, `8e9`: 7629, `8000000000`: 7629, `"1Mi"`: 1,
		`"40Gi"`: 40960, `" 1Gi "`: 1024, `"1048576.9"`: 1, `"2097151.9"`: 1,
	} {
		t.Run(quantity, func(t *testing.T) {
			got, err := on40GiB(quantity)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]PinnedLimit{{0, want}}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	const low, parse, high = "invalid limit: value set too low", "is not a quantity", "invalid limit: value set too high"
	for quantity, says := range map[string]string{
		`"1M"`: low, `"512Ki"`: low, `0`: low, `"0"`: low, `"-1Gi"`: low, `-1`: low, `"1048575.9"`: low, `"1m"`: low, `"1n"`: low, `"."`: low,
		`"10GB"`: parse, `"10 Gi"`: parse, `""`: parse, `"1.2.3"`: parse, `"Gi"`: parse, `{}`: parse, `[]`: parse, `"+"`: parse, `"0x10"`: parse,
		`"100Gi"`: high, `"40961Mi"`: high, `"8Ei"`: high, `"9e99"`: high, `"99999999999999999999999999999999"`: high,
	} {
		t.Run(quantity, func(t *testing.T) {
			_, err := on40GiB(quantity)
			refused(t, err, says)
		})
	}
}

func TestF35LimitsByPositionAndUUID(t *testing.T) {
	// The claim holds the host's GPUs 1 and 3, in whatever order.
	visible := []string{"GPU-b3", "GPU-b1"}
	total := map[string]int64{"GPU-b1": 40960, "GPU-b3": 40960}
	limit := Limit{MiB: 5120, Quantity: "5Gi"}
	for key, want := range map[string][]PinnedLimit{
		"0": {{0, 5120}}, "1": {{1, 5120}}, "GPU-b1": {{0, 5120}}, "GPU-b3": {{1, 5120}},
	} {
		t.Run(key, func(t *testing.T) {
			m := MPS{PerDevice: map[string]Limit{key: limit}}
			got, err := m.Pinned(visible, total)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	for _, key := range []string{"3", "2", "-1", "-0", "00", "+0", "0 ", "1e0", "GPU-b9", "gpu-b1", ""} {
		t.Run(fmt.Sprintf("refused %q", key), func(t *testing.T) {
			m := MPS{PerDevice: map[string]Limit{key: limit}}
			_, err := m.Pinned(visible, total)
			refused(t, err, fmt.Sprintf("invalid device: %q", key), "0 to 1")
		})
	}
}

func TestF46IntervalNames(t *testing.T) {
	for interval, level := range map[Interval]int{Default: 0, Short: 1, Medium: 2, Long: 3} {
		c, err := Decode([]byte(gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "` + string(interval) + `"}}`)))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Sharing.Interval.Level(); c.Sharing.Interval != interval || got != level {
			t.Errorf("%s is %s of level %d, want %d", interval, c.Sharing.Interval, got, level)
		}
	}
	for _, interval := range []string{"short", "LONG", "2", "10ms", "", " Short"} {
		t.Run(fmt.Sprintf("%q", interval), func(t *testing.T) {
			_, err := Decode([]byte(gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "` + interval + `"}}`)))
			refused(t, err, "unknown time-slice interval: "+interval, "Default, Short, Medium, Long")
			if got := Interval(interval).Level(); got != 0 {
				t.Errorf("level %d", got)
			}
		})
	}
	_, err := Decode([]byte(gpu(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": 2}}`)))
	refused(t, err, "number")
}

func TestF47TimeSliceOnMIG(t *testing.T) {
	check(t, map[string]row{
		"a: accepted, nothing set": {raw: mig(`{"strategy": "TimeSlicing"}`), want: timeSliced("")},
		"b: no such field":         {raw: mig(`{"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}`), says: []string{`unknown field "sharing.timeSlicingConfig"`}},
	})
}
