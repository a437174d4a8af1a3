// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whose an instance is, and whether somebody uses it behind everybody's back.
func TestClassify(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	const slot = "gpu-0-mig-3g40gb-9-4"
	for name, c := range map[string]struct {
		holds          []Hold
		processes      int
		foreign, stray bool
	}{
		"nobody's":                        {foreign: true},
		"nobody's, used":                  {processes: 2, foreign: true, stray: true},
		"ours":                            {holds: held(slot)},
		"ours, used":                      {holds: held(slot), processes: 1},
		"by another name":                 {holds: held("gpu-0-mig-other-9-4"), processes: 1},
		"found":                           {holds: []Hold{{Slot: slot, Found: true}}, foreign: true},
		"found, used":                     {holds: []Hold{{Slot: slot, Found: true}}, processes: 1, foreign: true},
		"made, and then found by another": {holds: []Hold{{Slot: slot, Claim: "a"}, {Slot: slot, Claim: "b", Found: true}}},
		"found, and then made by another": {holds: []Hold{{Slot: slot, Claim: "b", Found: true}, {Slot: slot, Claim: "a"}}},
		"watched":                         {holds: []Hold{{Slot: slot, Admin: true}}, processes: 1, foreign: true, stray: true},
		"beside ours":                     {holds: held("gpu-0-mig-3g40gb-9-0"), foreign: true},
		"another profile is held there":   {holds: held("gpu-0-mig-1g20gb-15-4"), processes: 1, foreign: true, stray: true},
		"held on another GPU":             {holds: held("gpu-1-mig-3g40gb-9-4"), processes: 1, foreign: true, stray: true},
		"on a GPU whose number begins so": {holds: held("gpu-00-mig-3g40gb-9-4"), foreign: true},
		"under a whole GPU that is held":  {holds: held("gpu-0"), processes: 1, foreign: true, stray: true},
	} {
		t.Run(name, func(t *testing.T) {
			// Marks of an earlier look do not stay.
			inst := Instance{Partition: d.at(t, "3g.40gb", 4), Processes: c.processes, Foreign: !c.foreign, Stray: !c.stray}
			devices := []Device{divisible(t, "A100-40", "gpu-7"), d.on(inst)}
			Classify(devices, c.holds)
			got := devices[1].Instances[0]
			if got.Foreign != c.foreign || got.Stray != c.stray {
				t.Errorf("foreign %t, stray %t; want %t, %t", got.Foreign, got.Stray, c.foreign, c.stray)
			}
		})
	}
}

// The instances of one GPU are told apart.
func TestClassifyEachInstance(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	devices := []Device{d.on(
		Instance{Partition: d.at(t, "1g.10gb", 0), Processes: 1}, Instance{Partition: d.at(t, "1g.10gb", 1), Processes: 1}, Instance{Partition: d.at(t, "3g.40gb", 4)},
	)}
	Classify(devices, held("gpu-0-mig-1g10gb-19-1"))
	var got []bool
	for _, i := range devices[0].Instances {
		got = append(got, i.Foreign, i.Stray)
	}
	if diff := cmp.Diff([]bool{true, true, false, false, true, false}, got); diff != "" {
		t.Errorf("foreign and stray of each (-want +got):\n%s", diff)
	}
}
