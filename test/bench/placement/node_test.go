// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"testing"

	"github.com/cotenant-dev/cotenant/api"
)

// names are the devices of the first GPU in the order published.
func (p published) names() []string {
	var out []string
	for _, d := range p.slices[1].Spec.Devices {
		out = append(out, d.Name)
	}
	return out
}

func TestBothLayoutsHaveTheSameDevicesInAnotherOrder(t *testing.T) {
	n := newTestNodes(t, newTestTable(t))
	ours, theirs := n.our.names(), n.their.names()
	if !slices.IsSorted(theirs) || theirs[0] != "gpu-0" {
		t.Errorf("the upstream layout begins with %s", theirs[:2])
	}
	if ours[0] != "gpu-0-mig-1g10gb-19-6" || ours[len(ours)-1] != "gpu-0" {
		t.Errorf("ours begins with %s and ends with %s", ours[0], ours[len(ours)-1])
	}
	slices.Sort(ours)
	if !slices.Equal(ours, theirs) {
		t.Errorf("ours are %v, theirs %v", ours, theirs)
	}
}

func TestOnlyOurDevicesNameAPolicy(t *testing.T) {
	n := newTestNodes(t, newTestTable(t))
	for i, p := range []published{n.our, n.their} {
		for _, s := range p.slices {
			for _, d := range s.Spec.Devices {
				if _, has := d.Attributes[api.AttributePolicy]; has != (i == 0) {
					t.Errorf("%s in layout %d: policy %t", d.Name, i, has)
				}
			}
		}
	}
}

func TestOneSliceOfCountersAndOneOfDevicesForEachGPU(t *testing.T) {
	n := newTestNodes(t, newTestTable(t))
	for i, p := range []published{n.our, n.their} {
		if len(p.slices) != 1+gpus || len(p.slices[0].Spec.SharedCounters) != gpus {
			t.Errorf("layout %d has %d slices with %d counter sets in the first", i, len(p.slices), len(p.slices[0].Spec.SharedCounters))
		}
	}
}
