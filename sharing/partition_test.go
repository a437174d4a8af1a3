// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// refusal wants an error of a reason that says all of these things.
func refusal(t *testing.T, err error, reason api.Reason, says ...string) {
	t.Helper()
	if got := api.ReasonOf(err); got != reason {
		t.Errorf("reason %q, want %q: %v", got, reason, err)
		return
	}
	for _, s := range says {
		if err != nil && !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
}

func held(slots ...string) []Hold {
	var out []Hold
	for _, s := range slots {
		out = append(out, Hold{Slot: s, Claim: "other", Namespace: "ns", Name: "theirs"})
	}
	return out
}

func uses(devices ...string) []Ask {
	var out []Ask
	for i, d := range devices {
		out = append(out, Ask{Request: fmt.Sprintf("r%d", i), Device: d})
	}
	return out
}

// Who may have which part of an H100, whose mode follows claims.
func TestAcquirePartOfAGPU(t *testing.T) {
	idle := divisible(t, "H100-80", "gpu-0")
	unknown := "gpu-0-mig-1g11gb-47-0"                                                     // of a driver that named other profiles
	halves := idle.on(Instance{GI: 1, Partition: idle.at(t, "3g.40gb", 4), Foreign: true}) // no compute instance
	busy := idle.theirs(t, "3g.40gb", 4)
	busy.Processes, busy.Stray = 1, true
	for name, c := range map[string]struct {
		device Device
		holds  []Hold
		asks   []Ask
		reason api.Reason
		says   string
	}{
		"a part of an idle one":           {device: idle, asks: uses("gpu-0-mig-1g10gb-19-6")},
		"beside another claim's":          {device: idle.on(), holds: held("gpu-0-mig-1g10gb-19-6"), asks: uses("gpu-0-mig-1g10gb-19-5")},
		"two that fill it":                {device: idle, asks: uses("gpu-0-mig-4g40gb-5-0", "gpu-0-mig-3g40gb-9-4")},
		"beside one that is only watched": {device: idle, holds: []Hold{{Slot: "gpu-0", Claim: "monitor", Admin: true}}, asks: uses("gpu-0-mig-7g80gb-0-0")},
		"a name of an older driver":       {device: idle, asks: uses("gpu-0-mig-1g12gb-19-6")},

		"part of a whole one": {device: idle, holds: held("gpu-0"), asks: uses("gpu-0-mig-1g10gb-19-6"),
			reason: api.Held, says: "gpu-0-mig-1g10gb-19-6 is held by way of gpu-0 by claim ns/theirs (UID other)"},
		"a whole one in parts": {device: idle.on(), holds: held("gpu-0-mig-1g10gb-19-6"), asks: uses("gpu-0"),
			reason: api.Held, says: "gpu-0 is held by way of gpu-0-mig-1g10gb-19-6 by claim ns/theirs"},
		"the same part": {device: idle.on(), holds: held("gpu-0-mig-1g10gb-19-6"), asks: uses("gpu-0-mig-1g10gb-19-6"),
			reason: api.Held, says: "gpu-0-mig-1g10gb-19-6 is held by claim ns/theirs"},
		"the same part by another name": {device: idle.on(), holds: held("gpu-0-mig-1g12gb-19-6"), asks: uses("gpu-0-mig-1g10gb-19-6"),
			reason: api.Held, says: "by way of gpu-0-mig-1g12gb-19-6"},
		"an overlapping part": {device: idle.on(), holds: held("gpu-0-mig-1g10gb-19-6"), asks: uses("gpu-0-mig-3g40gb-9-4"),
			reason: api.Held, says: "by way of gpu-0-mig-1g10gb-19-6"},
		"a second media engine": {device: idle.on(), holds: held("gpu-0-mig-1g10gb-me-20-6"), asks: uses("gpu-0-mig-1g10gb-me-20-0"),
			reason: api.Held, says: "the GPU has 1 of 1g.10gb+me already, which is the most"},
		"two media engines at once": {device: idle, asks: uses("gpu-0-mig-1g10gb-me-20-6", "gpu-0-mig-1g10gb-me-20-0"),
			reason: api.Held, says: "the GPU has 1 of 1g.10gb+me already"},

		"a part beside a hold that may lie anywhere": {device: idle.on(), holds: held(unknown), asks: uses("gpu-0-mig-1g10gb-19-6"),
			reason: api.Held, says: "by way of " + unknown},
		"the whole beside a hold that may lie anywhere": {device: idle.on(), holds: held(unknown), asks: uses("gpu-0"),
			reason: api.Held, says: "by way of " + unknown},
		"a profile that it does not have": {device: idle, asks: uses(unknown), reason: api.NotFound, says: unknown},

		"somebody's instance":                 {device: idle.on(idle.theirs(t, "3g.40gb", 4)), asks: uses("gpu-0-mig-3g40gb-9-4")},
		"beside somebody's instance":          {device: idle.on(idle.theirs(t, "3g.40gb", 4)), asks: uses("gpu-0-mig-4g40gb-5-0")},
		"somebody's that another claim holds": {device: idle.on(idle.theirs(t, "3g.40gb", 4)), holds: held("gpu-0-mig-3g40gb-9-4"), asks: uses("gpu-0-mig-3g40gb-9-4"), reason: api.Held, says: "held by claim ns/theirs"},
		"a part of somebody's instance": {device: idle.on(idle.theirs(t, "3g.40gb", 4)), asks: uses("gpu-0-mig-1g10gb-19-6"),
			reason: api.Held, says: "1g.10gb at 6 does not fit: 3g.40gb at 4 takes its units"},
		"another profile at somebody's place": {device: idle.on(idle.theirs(t, "1g.20gb", 4)), asks: uses("gpu-0-mig-2g20gb-14-4"),
			reason: api.Held, says: "1g.20gb at 4 takes its units"},
		"the whole with somebody's instance": {device: idle.on(idle.theirs(t, "3g.40gb", 4)), asks: uses("gpu-0"),
			reason: api.Held, says: "1 MIG instances that this driver did not make"},
		"somebody's that processes run on": {device: idle.on(busy), asks: uses("gpu-0-mig-3g40gb-9-4"),
			reason: api.Held, says: "is in use by processes that no claim accounts for"},
		"somebody's that is half made": {device: halves, asks: uses("gpu-0-mig-3g40gb-9-4"),
			reason: api.Held, says: "has no compute instance that takes all of it"},

		"the whole and a part of it": {device: idle, asks: uses("gpu-0", "gpu-0-mig-1g10gb-19-6"),
			reason: api.Invalid, says: "gpu-0-mig-1g10gb-19-6 beside gpu-0 (request r1)"},
		"a part and the whole of it": {device: idle, asks: uses("gpu-0-mig-1g10gb-19-6", "gpu-0"),
			reason: api.Invalid, says: "gpu-0 beside gpu-0-mig-1g10gb-19-6"},
		"one part twice": {device: idle, asks: uses("gpu-0-mig-1g10gb-19-6", "gpu-0-mig-1g10gb-19-6"),
			reason: api.Invalid, says: "request r1"},
		"two parts that overlap": {device: idle, asks: uses("gpu-0-mig-1g10gb-19-6", "gpu-0-mig-3g40gb-9-4"),
			reason: api.Invalid, says: "which are the same hardware"},
		"somebody's twice": {device: idle.on(idle.theirs(t, "3g.40gb", 4)), asks: uses("gpu-0-mig-3g40gb-9-4", "gpu-0-mig-3g40gb-9-4"),
			reason: api.Invalid, says: "request r1"},

		"a part of a GPU that cannot be parted": {device: device("gpu-0", Ready), asks: uses("gpu-0-mig-1g10gb-19-6"), reason: api.NotFound},
		"a part of a lost GPU":                  {device: Device{GPU: idle.GPU, Condition: Lost, Why: "because"}, asks: uses("gpu-0-mig-1g10gb-19-6"), reason: api.Lost, says: "because"},
		"a part of one set apart":               {device: Device{GPU: idle.GPU, Condition: Fenced, Why: "because"}, asks: uses("gpu-0-mig-1g10gb-19-6"), reason: api.Fenced, says: "because"},
		"a part of one whose mode is stuck on":  {device: Device{GPU: idle.GPU, Condition: Ready, Stuck: "because"}, asks: uses("gpu-0-mig-1g10gb-19-6")},
	} {
		t.Run(name, func(t *testing.T) {
			node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": c.device}, Holds: c.holds}
			rec, err := Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "mine", Asks: c.asks})
			refusal(t, err, c.reason, c.says)
			if err != nil {
				if d := cmp.Diff(Record{}, rec); d != "" {
					t.Errorf("a refusal comes with a record (-want +got):\n%s", d)
				}
				return
			}
			if len(rec.Holds) != len(c.asks) || len(rec.Grant.Devices) != len(c.asks) {
				t.Errorf("%d holds and %d granted for %d asks", len(rec.Holds), len(rec.Grant.Devices), len(c.asks))
			}
		})
	}
}

// Where a reset changes the mode, what it is decides.
func TestAcquireFollowsAModeThatNeedsAReset(t *testing.T) {
	off := divisible(t, "A100-40", "gpu-0")
	on := off.on()
	pending := off
	pending.Pending = true
	const part = "gpu-0-mig-1g5gb-19-0"
	for name, c := range map[string]struct {
		device Device
		ask    string
		reason api.Reason
		says   string
	}{
		"whole, off":                {off, "gpu-0", "", ""},
		"whole, off until a reset":  {pending, "gpu-0", "", ""},
		"whole, on":                 {on, "gpu-0", api.NeedsReset, "nvidia-smi -i GPU-gpu-0 -mig 0"},
		"part, on":                  {on, part, "", ""},
		"part, off":                 {off, part, api.NeedsReset, "nvidia-smi -i GPU-gpu-0 -mig 1"},
		"part, on after a reset":    {pending, part, api.NeedsReset, "nvidia-smi -i GPU-gpu-0 -mig 1"},
		"whole, on with somebody's": {on.on(on.theirs(t, "1g.5gb", 0)), "gpu-0", api.Held, "did not make"},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := Acquire(Node{Pool: "n1", Devices: map[string]Device{"gpu-0": c.device}}, Claim{UID: "c", Asks: uses(c.ask)})
			refusal(t, err, c.reason, c.says)
			for _, s := range rec.Steps {
				if _, switches := s.(SwitchMIG); switches {
					t.Errorf("the mode is switched: %+v", rec.Steps)
				}
			}
		})
	}
}

// An admin sees what is there, and is neither kept off nor keeps anybody off.
func TestAdminAndParts(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	part := d.where(t, "1g.10gb", 6).Slot
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": d}, Holds: held(part)}
	rec, err := Acquire(node, Claim{UID: "m", Asks: []Ask{{Request: "a", Device: part, Admin: true}, {Request: "b", Device: "gpu-0", Admin: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range rec.Holds {
		if !h.Admin || h.Found {
			t.Errorf("hold %+v, want an admin's", h)
		}
	}
	node.Holds = rec.Holds
	if _, err := Acquire(node, Claim{UID: "c", Asks: uses("gpu-0")}); err != nil {
		t.Errorf("an admin keeps a claim off: %v", err)
	}
}

// What was there is noted, so that it is never taken for ours.
func TestHoldsOnWhatWasThereSaySo(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	d = d.on(d.theirs(t, "3g.40gb", 4))
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": d}}
	rec, err := Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "n", Asks: uses("gpu-0-mig-3g40gb-9-4", "gpu-0-mig-4g40gb-5-0")})
	if err != nil {
		t.Fatal(err)
	}
	want := []Hold{
		{Slot: "gpu-0-mig-3g40gb-9-4", Claim: "c", Namespace: "ns", Name: "n", Found: true},
		{Slot: "gpu-0-mig-4g40gb-5-0", Claim: "c", Namespace: "ns", Name: "n"},
	}
	if diff := cmp.Diff(want, rec.Holds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// No table has a partition that only the compute slices keep out, but a part
// might: the fence is one for all of them.
func TestAcquireAsksTheGeometry(t *testing.T) {
	half := mig.Profile{ID: 1, Name: "3g.10gb", Slices: 3, Max: 2, Placements: []mig.Placement{{Start: 0, Size: 2}, {Start: 2, Size: 2}}}
	d := device("gpu-0", Ready).on()
	d.MIG = &MIG{Switchable: true, Geometry: mig.Geometry{half, {ID: 0, Name: "5g.20gb", Slices: 5, Max: 1, Placements: []mig.Placement{{Start: 0, Size: 4}}}}}
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": d}, Holds: held("gpu-0-mig-3g10gb-1-0")}
	_, err := Acquire(node, Claim{UID: "c", Asks: uses("gpu-0-mig-3g10gb-1-2")})
	refusal(t, err, api.Held, "it needs 3 compute slices, and 2 of 5 are free")
}
