// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Without counters devices look independent: nothing is published that is made on
// demand or that shares hardware with something else that is listed.
func TestPublishWithoutCounters(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	there := func(profile string, start int) Listed {
		l := offered(d, "p", onDemand(profile)).Slots
		i := slices.IndexFunc(l, func(l Listed) bool { return l.Part.Start == start })
		part := *l[i].Part
		part.UUID = "MIG-1"
		l[i].Part = &part
		return l[i]
	}
	whole := Listed{Slot: Slot{Name: "gpu-0"}}
	made := offered(d, "p", onDemand("1g.10gb")).Slots[0] // at 6
	for name, c := range map[string]struct {
		listed []Listed
		want   []string
	}{
		"the whole":                         {[]Listed{whole}, []string{"gpu-0"}},
		"the whole and what may be made":    {[]Listed{made, whole}, nil},
		"the whole and an instance":         {[]Listed{there("1g.10gb", 0), whole}, nil},
		"instances":                         {[]Listed{there("1g.10gb", 0), there("3g.40gb", 4)}, []string{"gpu-0-mig-1g10gb-19-0", "gpu-0-mig-3g40gb-9-4"}},
		"an instance and what may be made":  {[]Listed{made, there("1g.10gb", 0)}, []string{"gpu-0-mig-1g10gb-19-0"}},
		"an instance where one may be made": {[]Listed{made, there("3g.40gb", 4)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range Publish([]Offering{{Device: d, Slots: c.listed}}, Abilities{Why: "the gate is off"}) {
				if len(s.Counters)+counted(s.Devices) > 0 {
					t.Errorf("counters that the API server drops: %+v", s)
				}
				for _, dev := range s.Devices {
					got = append(got, dev.Name)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What keeps claims off each device of a GPU.
func TestTaintsOfParts(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	idle, used := d.theirs(t, "1g.10gb", 0), d.theirs(t, "3g.40gb", 4)
	used.UUID, used.Stray = "MIG-used", true
	stuck := d.on()
	stuck.Stuck = "because"
	lost := d
	lost.Condition = Lost
	for name, c := range map[string]struct {
		device   Device
		retiring int64
		offers   []v1alpha1.Offer
		want     map[string]string
	}{
		"ready":    {d, 0, []v1alpha1.Offer{wholeGPU(), onDemand("7g.80gb")}, map[string]string{"gpu-0": "", "gpu-0-mig-7g80gb-0-0": ""}},
		"stuck on": {stuck, 0, []v1alpha1.Offer{wholeGPU(), onDemand("7g.80gb")}, map[string]string{"gpu-0": "cotenant.dev/held", "gpu-0-mig-7g80gb-0-0": ""}},
		"in use":   {d.on(idle, used), 0, []v1alpha1.Offer{existing()}, map[string]string{"gpu-0-mig-1g10gb-19-0": "", "gpu-0-mig-3g40gb-9-4": "cotenant.dev/held"}},
		"retiring": {d, 9, []v1alpha1.Offer{onDemand("7g.80gb")}, map[string]string{"gpu-0-mig-7g80gb-0-0": "cotenant.dev/retired"}},
		"lost":     {lost, 9, []v1alpha1.Offer{onDemand("7g.80gb")}, map[string]string{"gpu-0-mig-7g80gb-0-0": "gpu.nvidia.com/gpu-lost cotenant.dev/retired"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := offered(c.device, "p", c.offers...)
			for i := range o.Slots {
				o.Slots[i].Retiring = c.retiring
			}
			got := map[string]string{}
			out := Publish([]Offering{o}, everything)
			for _, dev := range out[len(out)-1].Devices {
				var keys []string
				for _, taint := range dev.Taints {
					if taint.Effect != resourceapi.DeviceTaintEffectNoSchedule {
						t.Errorf("%s: taint %+v, want one that keeps new claims off and evicts nobody", dev.Name, taint)
					}
					keys = append(keys, taint.Key)
				}
				got[dev.Name] = strings.Join(keys, " ")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
