// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
)

var everything = Abilities{Partitions: true, Shares: true}

func wholeGPU() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "whole", Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}}
}

func onDemand(profiles ...string) v1alpha1.Offer {
	return v1alpha1.Offer{Name: "slice", Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGOnDemand, Profiles: profiles}}}
}

func existing() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "there", Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGExisting}}}
}

// short writes slots as people would: "1g.10gb@6", with the UUID of one that is
// there; "whole".
func short(slots []Slot) []string {
	out := []string{}
	for _, s := range slots {
		switch {
		case s.Part == nil:
			out = append(out, "whole")
		case s.Part.UUID != "":
			out = append(out, fmt.Sprintf("%s@%d=%s", s.Part.Profile.Name, s.Part.Start, s.Part.UUID))
		default:
			out = append(out, fmt.Sprintf("%s@%d", s.Part.Profile.Name, s.Part.Start))
		}
	}
	return out
}

// What a GPU is published as, in this order, and which offers it is kept from.
func TestOffered(t *testing.T) {
	h100, a100, t4 := divisible(t, "H100-80", "gpu-0"), divisible(t, "A100-40", "gpu-0"), device("gpu-0", Ready)
	t4.Product = "Tesla T4"
	half := h100.on(h100.theirs(t, "3g.40gb", 4))
	bare := h100.on(Instance{Partition: h100.at(t, "3g.40gb", 4), Foreign: true})
	ours := h100.on(Instance{Partition: h100.at(t, "1g.10gb", 6), UUID: "MIG-ours"})
	unsaid := onDemand()
	unsaid.Device.MIG = nil
	gateOff := Abilities{Why: "the gate is off"}
	for name, c := range map[string]struct {
		device   Device
		offers   []v1alpha1.Offer
		can      Abilities
		want     []string
		withheld string
	}{
		"nothing":                         {h100, nil, everything, []string{}, ""},
		"a whole GPU":                     {t4, []v1alpha1.Offer{wholeGPU()}, everything, []string{"whole"}, ""},
		"a whole GPU without counters":    {h100, []v1alpha1.Offer{wholeGPU()}, gateOff, []string{"whole"}, ""},
		"a whole GPU last":                {h100, []v1alpha1.Offer{wholeGPU(), onDemand("7g.80gb", "3g.40gb")}, everything, []string{"3g.40gb@4", "3g.40gb@0", "7g.80gb@0", "whole"}, ""},
		"one profile twice":               {h100, []v1alpha1.Offer{onDemand("7g.80gb"), onDemand("7g.80gb", "*"), onDemand("7g.80gb")}, everything, short(all(h100)), ""},
		"every profile":                   {h100, []v1alpha1.Offer{onDemand("*")}, everything, short(all(h100)), ""},
		"a profile with a suffix":         {h100, []v1alpha1.Offer{onDemand("1g.10gb+me")}, everything, []string{"1g.10gb+me@6", "1g.10gb+me@5", "1g.10gb+me@4", "1g.10gb+me@3", "1g.10gb+me@2", "1g.10gb+me@1", "1g.10gb+me@0"}, ""},
		"one that it has and one that no": {h100, []v1alpha1.Offer{onDemand("7g.80gb", "7g.40gb")}, everything, []string{"7g.80gb@0"}, `slice: NVIDIA H100 80GB HBM3 has no profile "7g.40gb"; it has 1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb`},

		"beside somebody's":                     {half, []v1alpha1.Offer{onDemand("1g.20gb", "4g.40gb", "7g.80gb")}, everything, []string{"1g.20gb@2", "1g.20gb@0", "4g.40gb@0"}, ""},
		"somebody's itself":                     {half, []v1alpha1.Offer{onDemand("3g.40gb"), existing()}, everything, []string{"3g.40gb@4=MIG-3g.40gb", "3g.40gb@0"}, ""},
		"somebody's and no offer of it":         {half, []v1alpha1.Offer{onDemand("3g.40gb")}, everything, []string{"3g.40gb@0"}, ""},
		"somebody's without counters":           {half, []v1alpha1.Offer{existing()}, gateOff, []string{"3g.40gb@4=MIG-3g.40gb"}, ""},
		"somebody's half made":                  {bare, []v1alpha1.Offer{existing(), onDemand("3g.40gb")}, everything, []string{"3g.40gb@0"}, ""},
		"what is there, where nothing is":       {h100, []v1alpha1.Offer{existing()}, everything, []string{}, ""},
		"what is there, on a GPU without parts": {t4, []v1alpha1.Offer{existing()}, everything, []string{}, ""},
		"beside our own":                        {ours, []v1alpha1.Offer{wholeGPU(), onDemand("7g.80gb"), existing()}, everything, []string{"7g.80gb@0", "whole"}, ""},

		"whole, with somebody's":                 {half, []v1alpha1.Offer{wholeGPU()}, everything, []string{}, "whole: it has 1 MIG instances that somebody else made: nvidia-smi mig -lgi -i GPU-gpu-0"},
		"whole, with ours, no counter":           {ours, []v1alpha1.Offer{wholeGPU()}, gateOff, []string{}, "whole: it has MIG instances, and the gate is off"},
		"whole, mode on":                         {a100.on(), []v1alpha1.Offer{wholeGPU()}, everything, []string{}, "whole: MIG mode is on, so that no container can use the whole GPU, and changing it needs a reset: nvidia-smi -i GPU-gpu-0 -mig 0"},
		"whole, mode off":                        {a100, []v1alpha1.Offer{wholeGPU()}, everything, []string{"whole"}, ""},
		"whole, mode on, and not ours to switch": {t4.on(), []v1alpha1.Offer{wholeGPU()}, everything, []string{}, "whole: MIG mode is on"},
		"parts, mode off":                        {a100, []v1alpha1.Offer{onDemand("7g.40gb")}, everything, []string{}, "slice: MIG mode of gpu-0 is off and changing it needs a reset of the GPU: nvidia-smi -i GPU-gpu-0 -mig 1"},
		"parts, mode on":                         {a100.on(), []v1alpha1.Offer{onDemand("7g.40gb")}, everything, []string{"7g.40gb@0"}, ""},
		"parts, without counters":                {h100, []v1alpha1.Offer{onDemand("*")}, gateOff, []string{}, "slice: the gate is off"},
		"parts of what has none":                 {t4, []v1alpha1.Offer{onDemand("*")}, everything, []string{}, "slice: gpu-0 (Tesla T4) cannot be partitioned"},
		"parts that nobody named":                {h100, []v1alpha1.Offer{unsaid}, everything, []string{}, "slice: it does not say which partitions"},
	} {
		t.Run(name, func(t *testing.T) {
			slots, _, withheld := Offered(c.device, c.offers, c.can, Means{})
			if d := cmp.Diff(c.want, short(slots)); d != "" {
				t.Errorf("slots (-want +got):\n%s", d)
			}
			why := ""
			for _, w := range withheld {
				why += w.Offer + ": " + w.Why
			}
			if !strings.HasPrefix(why, c.withheld) || c.withheld == "" && why != "" {
				t.Errorf("withheld %q, want %q", why, c.withheld)
			}
		})
	}
}

// all are all partitions of a device as slots, in the order of its geometry.
func all(d Device) []Slot {
	var out []Slot
	for _, p := range d.MIG.Geometry.Partitions() {
		profile, _ := d.MIG.Geometry.Profile(p.Profile)
		out = append(out, Slot{Name: PartitionName(d.Name, profile, p.Start), Part: &Part{Profile: profile, Placement: p.Placement}})
	}
	return out
}

// Two profiles of one name are both meant by it, and are two devices.
func TestOfferedProfilesOfOneName(t *testing.T) {
	d := divisible(t, "A30-24", "gpu-0").on()
	g := slices.Clone(d.MIG.Geometry)
	for i := range g {
		g[i].Name = strings.TrimSuffix(g[i].Name, "+me")
	}
	d.MIG = &MIG{Geometry: g}
	slots, _, withheld := Offered(d, []v1alpha1.Offer{onDemand("2g.12gb")}, everything, Means{})
	var names []string
	for _, s := range slots {
		names = append(names, s.Name)
	}
	want := []string{}
	for _, p := range g.Partitions() {
		if profile, _ := g.Profile(p.Profile); profile.Name == "2g.12gb" {
			want = append(want, fmt.Sprintf("gpu-0-mig-2g12gb-%d-%d", p.Profile, p.Start))
		}
	}
	if d := cmp.Diff(want, names); d != "" || len(names) != 4 || len(withheld) != 0 {
		t.Errorf("withheld %v (-want +got):\n%s", withheld, d)
	}
}

// A slot does not follow the geometry it was made from.
func TestOfferedSlotsStandAlone(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	slots, _, _ := Offered(d, []v1alpha1.Offer{onDemand("4g.40gb")}, everything, Means{})
	want := []Slot{{Name: "gpu-0-mig-4g40gb-5-0", Part: &Part{Placement: mig.Placement{Size: 4}, Profile: mig.Profile{
		Index: 3, ID: 5, Name: "4g.40gb", Slices: 4, Max: 1, MemoryMiB: 40448,
		Engines: mig.Engines{Multiprocessors: 64, CopyEngines: 4, Decoders: 4, JPEGEngines: 4},
	}}}}
	if d := cmp.Diff(want, slots); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
