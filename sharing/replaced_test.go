// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "testing"

// What was set on a board that was replaced went with it: nothing is set on its
// successor, and nothing is asked about a UUID that no longer exists.
func TestReplacedBoardOwesNoSetting(t *testing.T) {
	node, _, turns := sharedNode(t)
	rec, err := Acquire(node, Claim{UID: "c", Asks: []Ask{{Request: "r", Device: turns, Share: "s"}}})
	if err != nil {
		t.Fatal(err)
	}
	d := node.Devices["gpu-0"]
	d.UUID = "GPU-its-successor"
	r := Release(rec, map[string]Device{"gpu-0": d}, nil)
	for _, s := range append(r.Undo.Steps, r.Owed.Steps...) {
		switch s := s.(type) {
		case SetInterval:
			t.Errorf("the interval of %s is to be restored, and the GPU is %s now", s.UUID, d.UUID)
		case SetComputeMode:
			t.Errorf("the compute mode of the board that was replaced is set on %s", d.UUID)
		}
	}
}

// A daemon that is broken for no reason that is told is broken all the same.
func TestBrokenWithoutAReason(t *testing.T) {
	o := Offering{supervision: Supervision{Up: true, Daemons: map[string]DaemonState{"gpu-0-quarter-9fb0": {BrokenSince: 5}}}}
	if o.broken(Listed{Slot: Slot{Name: "gpu-0-quarter-9fb0", Shared: &quarter}}) == "" {
		t.Error("it does not serve, and nobody is kept from it")
	}
}
