// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

var (
	quarter = Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: 4, MemoryMiB: 19752, ActiveThreads: 25, Memory: MemoryPerProcess}
	eighth  = Shared{Offer: "eighth", Mode: v1alpha1.TimeSlicing, Shares: 8, MemoryMiB: 9876, Interval: nvidia.Short, Memory: MemoryUnlimited}
)

// sharedNode is a node with one H100 that may be whole, partitioned, or shared in
// two ways.
func sharedNode(t *testing.T) (Node, string, string) {
	d := h100(t, "gpu-0")
	a, b := ShareName(d.Name, quarter), ShareName(d.Name, eighth)
	return Node{Pool: "n1", Devices: map[string]Device{d.Name: d}, Slots: map[string]Shared{a: quarter, b: eighth}}, a, b
}

// A GPU that is shared is nobody's whole, in no parts, and shared in one way, by as
// many as there are shares.
func TestAcquireShares(t *testing.T) {
	node, slot, other := sharedNode(t)
	d := node.Devices["gpu-0"]
	share := func(slot, id string) Ask { return Ask{Request: "r", Device: slot, Share: id} }
	part := d.where(t, "1g.10gb", 0).Slot
	take := func(uid string, asks ...Ask) Record {
		t.Helper()
		rec, err := Acquire(node, Claim{UID: uid, Namespace: "ns", Name: uid, Asks: asks})
		if err != nil {
			t.Fatalf("%s: %v", uid, err)
		}
		node.Holds = append(node.Holds, rec.Holds...)
		return rec
	}
	refused := func(what string, reason api.Reason, says string, asks ...Ask) {
		t.Helper()
		_, err := Acquire(node, Claim{UID: "late", Namespace: "ns", Name: "late", Asks: asks})
		refusal(t, err, reason, says)
	}
	take("a", share(slot, "s1"))
	take("b", share(slot, "s2"), share(slot, "s3"))
	refused("the whole GPU", api.Held, "by way of "+slot, Ask{Request: "r", Device: "gpu-0"})
	refused("a part", api.Held, "by way of "+slot, Ask{Request: "r", Device: part})
	refused("shared in another way", api.Held, "by way of "+slot, share(other, "s4"))
	refused("both ways at once", api.Invalid, slot, share(slot, "s4"), share(other, "s5"))
	refused("more than are left", api.Held, "all 4 shares of "+slot, share(slot, "s4"), share(slot, "s5"))
	take("c", share(slot, "s4"))
	refused("a fifth", api.Held, "all 4 shares of "+slot, share(slot, "s5"))
	refused("an edited offer's", api.NotFound, "gpu-0-quarter-ffff", share("gpu-0-quarter-ffff", "s5"))
	watch := take("admin", Ask{Request: "r", Device: slot, Admin: true})
	if len(watch.Steps) != 1 {
		t.Errorf("an admin changes something: %+v", watch.Steps)
	}

	node.Holds = nil
	refused("a share and the whole", api.Invalid, "the same hardware", share(slot, "s1"), Ask{Request: "r", Device: "gpu-0"})
	refused("the whole and a share", api.Invalid, "the same hardware", Ask{Request: "r", Device: "gpu-0"}, share(slot, "s1"))
	refused("a part and a share", api.Invalid, "the same hardware", Ask{Request: "r", Device: part}, share(slot, "s1"))
	refused("a share and a part", api.Invalid, "the same hardware", share(slot, "s1"), Ask{Request: "r", Device: part})
	refused("shared in two ways", api.Invalid, "the same hardware", share(slot, "s1"), share(other, "s1"))
	for _, taken := range []string{"gpu-0", part, other} {
		node.Holds = held(taken)
		refused("of what is "+taken, api.Held, taken, share(slot, "s1"))
	}
}

// The steps of a share are those of its mode, what was before is copied from who
// was there first, and both requests of a claim are answered.
func TestStepsOfShares(t *testing.T) {
	node, slot, other := sharedNode(t)
	d := node.Devices["gpu-0"]
	at := func(slot string) Setting { return Setting{Slot: slot, Address: d.Address} }
	node.Known = Facts{}
	node.Known[computeModeKey(d.Address)] = Fact{Was: "Prohibited"}
	rec, err := Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "n", Asks: []Ask{
		{Request: "x", Device: slot, Share: "s1"}, {Request: "y", Device: slot, Share: "s2"}}})
	if err != nil {
		t.Fatal(err)
	}
	threads := 25
	want := Record{
		UID: "c", Namespace: "ns", Name: "n", State: Preparing,
		Steps: []Step{
			SwitchMIG{Address: d.Address},
			NoteComputeMode{at(slot)}, SetComputeMode{at(slot), ComputeExclusive},
			StartMPS{Slot: slot, Daemon: slot, Devices: []Served{{Address: d.Address, UUID: d.UUID, MemoryMiB: 81559}},
				Limits: nvidia.MPS{ActiveThreads: &threads, Memory: &nvidia.Limit{MiB: 19752, Quantity: "19752Mi"}, MultiUser: true}},
			WriteSpec{Claim: "c", Devices: []SpecDevice{
				{Name: "c-" + slot, Address: d.Address, UUID: d.UUID, Slot: slot, Shared: &quarter, MemoryMiB: 81559, Daemon: slot}}},
		},
		Facts: Facts{computeModeKey(d.Address): {Was: "Prohibited"}},
		Holds: []Hold{{Slot: slot, Claim: "c", Share: "s1", Namespace: "ns", Name: "n"}, {Slot: slot, Claim: "c", Share: "s2", Namespace: "ns", Name: "n"}},
		Grant: &Grant{Devices: []Granted{
			{Request: "x", Pool: "n1", Device: slot, Share: "s1", CDI: []string{api.CDIKind + "=c-" + slot}},
			{Request: "y", Pool: "n1", Device: slot, Share: "s2", CDI: []string{api.CDIKind + "=c-" + slot}},
		}},
	}
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Errorf("by MPS (-want +got):\n%s", diff)
	}
	daemon, err := rec.Steps[3].(StartMPS).Wanted(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Daemon{ID: slot, UUIDs: []string{d.UUID}, ActiveThreads: 25, PinnedMiB: []int64{19752}, MultiUser: true}, daemon); diff != "" {
		t.Errorf("the daemon (-want +got):\n%s", diff)
	}

	rec, err = Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "n", Asks: []Ask{{Request: "x", Device: other, Share: "s1"}}})
	if err != nil {
		t.Fatal(err)
	}
	want = rec
	want.Steps = []Step{
		SwitchMIG{Address: d.Address},
		NoteComputeMode{at(other)}, SetComputeMode{at(other), ComputeDefault},
		NoteInterval{at(other), d.UUID}, SetInterval{at(other), d.UUID, nvidia.Short},
		WriteSpec{Claim: "c", Devices: []SpecDevice{{Name: "c-" + other, Address: d.Address, UUID: d.UUID, Slot: other, Shared: &eighth, MemoryMiB: 81559}}},
	}
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Errorf("in turns (-want +got):\n%s", diff)
	}
}

// Whatever order sharers come and go in, what was done for them is undone with the
// last, and by nobody before; also while its GPU is lost.
func TestTheLastSharerUndoes(t *testing.T) {
	node, slot, _ := sharedNode(t)
	records := map[string]Record{}
	for i := range 3 {
		node.Holds = holdsOf(records)
		rec, err := Acquire(node, Claim{UID: fmt.Sprint("c", i), Asks: []Ask{{Request: "r", Device: slot, Share: fmt.Sprint("s", i)}}})
		if err != nil {
			t.Fatal(err)
		}
		records[rec.UID] = rec
	}
	admin := Hold{Slot: slot, Claim: "admin", Admin: true}
	for _, lost := range []bool{false, true} {
		devices := map[string]Device{"gpu-0": node.Devices["gpu-0"]}
		if lost {
			devices["gpu-0"] = device("gpu-0", Lost)
		}
		left := map[string]Record{"c0": records["c0"], "c1": records["c1"], "c2": records["c2"]}
		for _, uid := range []string{"c1", "c0", "c2"} {
			r := Release(left[uid], devices, append(holdsOf(left), admin))
			delete(left, uid)
			daemons, modes, owed := 0, 0, 0
			for _, s := range r.Undo.Steps {
				if _, ok := s.(StartMPS); ok {
					daemons++
				}
				if _, ok := s.(SetComputeMode); ok {
					modes++
				}
			}
			for _, s := range r.Owed.Steps {
				if _, ok := s.(SetComputeMode); ok {
					owed++
				}
				if _, ok := s.(StartMPS); ok {
					t.Errorf("the end of a process is owed: %+v", s)
				}
			}
			want := [3]int{}
			if len(left) == 0 && lost {
				want = [3]int{1, 0, 1} // a daemon is a process, the mode is the GPU's
			} else if len(left) == 0 {
				want = [3]int{1, 1, 0}
			}
			if got := [3]int{daemons, modes, owed}; got != want {
				t.Errorf("lost %t: %s goes and leaves %d: daemons stopped, modes restored, modes owed are %v, want %v", lost, uid, len(left), got, want)
			}
		}
	}
}

// A configuration is applied to what the claim has alone.
func TestSettingsOfAClaim(t *testing.T) {
	a, b, part := h100(t, "gpu-0"), h100(t, "gpu-1"), h100(t, "gpu-2")
	old := device("gpu-3", Ready)
	old.Product, old.ComputeCapability = "Tesla P4", "6.1.0"
	node := Node{Pool: "n1", Devices: map[string]Device{"gpu-0": a, "gpu-1": b, "gpu-2": part, "gpu-3": old}}
	slice := part.where(t, "1g.10gb", 0).Slot
	long := &Settings{Sharing: nvidia.Sharing{Strategy: nvidia.StrategyTimeSlicing, Interval: nvidia.Long}}
	turns := &Settings{Sharing: nvidia.Sharing{Strategy: nvidia.StrategyTimeSlicing}}
	mps := func(group int, m nvidia.MPS) *Settings {
		return &Settings{Sharing: nvidia.Sharing{Strategy: nvidia.StrategyMPS, MPS: &m}, Group: group}
	}
	limited := nvidia.MPS{PerDevice: map[string]nvidia.Limit{"1": {MiB: 5, Quantity: "5Mi"}, a.UUID: {MiB: 7, Quantity: "7Mi"}}}
	for name, c := range map[string]struct {
		asks   []Ask
		reason api.Reason
		says   string
		want   []string // of the steps that set something
	}{
		"nothing":                     {asks: []Ask{{Request: "r", Device: "gpu-0"}}},
		"an interval":                 {asks: []Ask{{Request: "r", Device: "gpu-0", Settings: long}}, want: []string{"0000:00:00.0 Default", "0000:00:00.0 Long"}},
		"of an admin":                 {asks: []Ask{{Request: "r", Device: "gpu-0", Settings: long, Admin: true}}},
		"turns on a part":             {asks: []Ask{{Request: "r", Device: slice, Settings: turns}}},
		"one daemon over two":         {asks: []Ask{{Request: "r", Device: "gpu-1", Settings: mps(0, limited)}, {Request: "s", Device: "gpu-0", Settings: mps(0, limited)}}, want: []string{"0000:01:00.0 Exclusive_Process", "0000:00:00.0 Exclusive_Process", "c [GPU-gpu-0 GPU-gpu-1] [7 5]"}},
		"a daemon over a part":        {asks: []Ask{{Request: "r", Device: slice, Settings: mps(0, nvidia.MPS{})}}, want: []string{"c [MIG-made] [0]"}},
		"two daemons":                 {asks: []Ask{{Request: "r", Device: "gpu-0", Settings: mps(0, nvidia.MPS{})}, {Request: "s", Device: "gpu-1", Settings: mps(1, nvidia.MPS{})}}, reason: api.Invalid, says: "two MPS configurations (the second for request s)"},
		"a limit of what is not here": {asks: []Ask{{Request: "r", Device: "gpu-1", Settings: mps(0, limited)}}, reason: api.Invalid, says: "invalid device"},
		"more than there is":          {asks: []Ask{{Request: "r", Device: slice, Settings: mps(0, nvidia.MPS{Memory: &nvidia.Limit{MiB: 20000, Quantity: "20000Mi"}})}}, reason: api.Invalid, says: "20000Mi"},
		"users before Volta":          {asks: []Ask{{Request: "r", Device: "gpu-3", Settings: mps(0, nvidia.MPS{MultiUser: true})}}, reason: api.Invalid, says: "compute capability 7.0; gpu-3 (Tesla P4) has 6.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := Acquire(node, Claim{UID: "c", Namespace: "ns", Name: "n", Asks: c.asks})
			if api.ReasonOf(err) != c.reason {
				t.Fatalf("reason %q, want %q: %v", api.ReasonOf(err), c.reason, err)
			}
			if err != nil {
				refusal(t, err, c.reason, c.says)
				return
			}
			var got []string
			for _, s := range rec.Steps {
				switch s := s.(type) {
				case SetComputeMode:
					got = append(got, s.Address+" "+string(s.Mode))
				case SetInterval:
					got = append(got, s.Address+" "+string(s.Interval))
				case StartMPS:
					d, err := s.Wanted(Facts{slice: {UUID: "MIG-made"}})
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(d.ID, " ", d.UUIDs, " ", d.PinnedMiB))
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What a setting was is gone with the driver load in which it was noted.
func TestReload(t *testing.T) {
	node, slot, other := sharedNode(t)
	address := node.Devices["gpu-0"].Address
	node.Known = Facts{}
	for _, key := range []string{computeModeKey(address), intervalKey(address)} {
		node.Known[key] = Fact{Was: map[string]string{computeModeKey(address): "Prohibited", intervalKey(address): "Long"}[key]}
	}
	for _, device := range []string{slot, other} {
		rec, err := Acquire(node, Claim{UID: "c", Asks: []Ask{{Request: "r", Device: device, Share: "s"}}})
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Reload() || rec.Reload() {
			t.Errorf("%s: it is news twice, or never", device)
		}
		if mode, _ := rec.Facts.ComputeMode(address); mode != ComputeDefault {
			t.Errorf("%s: the compute mode was %s", device, mode)
		}
		if i, noted := rec.Facts.Interval(address); noted && i != nvidia.Default {
			t.Errorf("%s: the interval was %s", device, i)
		}
	}
	bare := Record{UID: "c", Steps: []Step{SetComputeMode{Setting: Setting{Address: address}}}}
	if bare.Reload() || len(bare.Facts) > 0 {
		t.Errorf("what was never noted is: %+v", bare.Facts)
	}
}
