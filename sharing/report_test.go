// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// What a node says of itself.
func TestReport(t *testing.T) {
	h100, a100 := divisible(t, "H100-80", "gpu-10"), divisible(t, "A100-40", "gpu-2")
	h100.Product, h100.DriverVersion = "H100", "535.129.3"
	h100.Stuck = "its MIG mode could not be switched off"
	unnamed := Instance{Partition: a100.at(t, "1g.5gb", 6), Foreign: true}
	unnamed.Profile = 77
	used := a100.theirs(t, "3g.20gb", 0)
	used.Stray = true
	a100 = a100.on(unnamed, used, Instance{Partition: a100.at(t, "1g.5gb", 4), UUID: "MIG-ours"})
	a100.Product, a100.Condition, a100.Why, a100.DriverVersion = "A100", Fenced, "released while it did not answer", "535.129.3"
	c := Cluster{Can: everything, Policies: []v1alpha1.SharingPolicy{
		policy("b", 5, 0), policy("a", 9, 0), policy("elsewhere", 9, 0, onNodes("pool", "x")), policy("broken", 9, 0, nodes("pool", "Near", "x")),
		policy("sick", 1, 0, onGPUs("!")), policy("gone", 9, 0, deleted),
	}}
	offerings := []Offering{
		{Device: h100, Owner: Ownership{Policy: "a", Outranked: []string{"b", "unknown"}, Failed: map[string]string{"sick": "no such attribute", "broken": "again"}},
			Withheld: []Withheld{{"slice", "no such profile"}},
			Slots:    []Listed{{Slot: slot("z", 1), Retiring: 5}, {Slot: slot("y", 2), Retiring: 4}, {Slot: slot("x", 3)}}},
		{Device: a100, Owner: Ownership{Policy: "b", Outranked: []string{"b"}}},
	}
	holds := []Hold{
		{Slot: "gpu-2-mig-1g5gb-19-4", Claim: "u1", Namespace: "ns", Name: "one"},
		{Slot: "gpu-10", Claim: "u2", Namespace: "ns", Name: "two", Admin: true},
		{Slot: "gpu-1", Claim: "u3", Namespace: "ns", Name: "three"},
	}
	want := v1alpha1.GPUNodeStatus{
		DriverVersion: "535.129.3", Publication: v1alpha1.Publication{Mode: v1alpha1.PublicationFull}, GPUCount: 2,
		Policies: []v1alpha1.NodePolicy{
			{Name: "a", GPUsOwned: 1},
			{Name: "b", GPUsOwned: 1, GPUsOutranked: 2},
			{Name: "broken", Error: `nodeSelector: "Near" is not a valid label selector operator`},
			{Name: "sick", Error: "gpu-10: no such attribute"},
		},
		GPUs: []v1alpha1.NodeGPU{
			{Name: "gpu-2", UUID: "GPU-gpu-2", PCIBusID: "0000:02:00.0", Product: "A100", Policy: "b", Condition: "Fenced",
				Message: "released while it did not answer", MIGMode: "Enabled",
				Instances: []v1alpha1.ForeignInstance{
					{Profile: "3g.20gb", Start: 0, UUID: "MIG-3g.20gb", InUse: true}, {Profile: "unknown", Start: 6}},
				Holds: []v1alpha1.NodeHold{{Device: "gpu-2-mig-1g5gb-19-4", Namespace: "ns", Claim: "one", ClaimUID: "u1"}}},
			{Name: "gpu-10", UUID: "GPU-gpu-10", PCIBusID: "0000:00:00.0", Product: "H100", Policy: "a", Condition: "Ready",
				Message: "its MIG mode could not be switched off", MIGMode: "FollowsClaims",
				Withheld: []v1alpha1.WithheldOffer{{Offer: "slice", Reason: "no such profile"}}, Retiring: []string{"y", "z"},
				Holds: []v1alpha1.NodeHold{{Device: "gpu-10", Namespace: "ns", Claim: "two", ClaimUID: "u2", Admin: true}}},
		},
	}
	for range 20 { // maps have no order, a report has
		if d := cmp.Diff(want, Report(offerings, holds, c, Means{}, "")); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	}
}

func TestReportSaysWhatCanBePublished(t *testing.T) {
	for name, c := range map[string]struct {
		can       Abilities
		stoodDown string
		want      v1alpha1.Publication
	}{
		"everything":         {everything, "", v1alpha1.Publication{Mode: "Full"}},
		"no counters":        {Abilities{Why: "the gate is off"}, "", v1alpha1.Publication{Mode: "Static", Reason: "the gate is off"}},
		"somebody else does": {everything, "the device plugin has 3 GPUs", v1alpha1.Publication{Mode: "None", Reason: "the device plugin has 3 GPUs"}},
		"neither":            {Abilities{Why: "the gate is off"}, "the device plugin", v1alpha1.Publication{Mode: "None", Reason: "the device plugin"}},
	} {
		if d := cmp.Diff(c.want, Report(nil, nil, Cluster{Can: c.can}, Means{}, c.stoodDown).Publication); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestReportedMIGMode(t *testing.T) {
	h100, a100 := divisible(t, "H100-80", "gpu-0"), divisible(t, "A100-40", "gpu-0")
	lost, waits, leaves := a100, a100, a100.on()
	lost.Condition, waits.Pending, leaves.Pending = Lost, true, false
	for want, devices := range map[string][]Device{
		"":                                {device("gpu-0", Ready), lost},
		"FollowsClaims":                   {h100, h100.on()},
		"Enabled":                         {a100.on()},
		"Disabled":                        {a100},
		"Disabled, Enabled after a reset": {waits},
		"Enabled, Disabled after a reset": {leaves},
	} {
		for _, d := range devices {
			if got := Report([]Offering{{Device: d}}, nil, Cluster{}, Means{}, "").GPUs[0].MIGMode; got != want {
				t.Errorf("MIG mode %q, want %q", got, want)
			}
		}
	}
}
