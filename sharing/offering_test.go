// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Every GPU is published as its own policy says.
func TestOfferings(t *testing.T) {
	t4 := device("gpu-1", Ready)
	t4.Product = "T4"
	h100 := divisible(t, "H100-80", "gpu-0")
	parts := policy("parts", 1, 0, onGPUs(h100.Product))
	parts.Spec.Offers = []v1alpha1.Offer{onDemand("7g.80gb", "9g.90gb"), wholeGPU()}
	c := Cluster{Policies: []v1alpha1.SharingPolicy{parts}, Can: everything, Match: matchProduct}
	got := Offerings([]Device{h100, t4}, c, Standing{Listed: map[string][]Listed{h100.Address: {{Slot: slot("old", 3)}}}, Now: 50})
	if d := cmp.Diff([]string{"gpu-0-mig-7g80gb-0-0", "gpu-0", "old retiring since 50"}, terms(got[0].Slots)); d != "" {
		t.Errorf("gpu-0 (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"gpu-1"}, terms(got[1].Slots)); d != "" {
		t.Errorf("gpu-1 (-want +got):\n%s", d)
	}
	if len(got[0].Withheld) != 1 || got[0].Owner.Policy != "parts" || got[1].Owner.Policy != "default" {
		t.Errorf("withheld %v, owners %s and %s", got[0].Withheld, got[0].Owner.Policy, got[1].Owner.Policy)
	}
}

// What a lost GPU is now cannot be seen: what was published of it stays.
func TestOfferingsOfALostGPU(t *testing.T) {
	lost := divisible(t, "A100-40", "gpu-0")
	lost.Condition = Lost
	p := policy("p", 0, 0)
	p.Spec.Offers = []v1alpha1.Offer{wholeGPU(), onDemand("*")}
	for name, c := range map[string]struct {
		listed []Listed
		want   []string
	}{
		"nothing was":           {nil, []string{"gpu-0"}},
		"partitions were":       {[]Listed{{Slot: slot("a", 0)}, {Slot: slot("b", 1)}}, []string{"a", "b"}},
		"one of them retires":   {[]Listed{{Slot: slot("a", 0)}, {Slot: slot("b", 1), Retiring: 3}}, []string{"a", "b retiring since 3"}},
		"all of them retire":    {[]Listed{{Slot: slot("b", 1), Retiring: 3}}, []string{"gpu-0", "b retiring since 3"}},
		"the whole was offered": {[]Listed{{Slot: Slot{Name: "gpu-0"}}}, []string{"gpu-0"}},
	} {
		got := Offerings([]Device{lost}, Cluster{Policies: []v1alpha1.SharingPolicy{p}, Can: everything}, Standing{Listed: map[string][]Listed{lost.Address: c.listed}, Now: 50})
		if d := cmp.Diff(c.want, terms(got[0].Slots)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
