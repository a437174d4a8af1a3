// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// h100 is one as it is published by a driver of today.
func h100(t testing.TB, name string) Device {
	d := divisible(t, "H100-80", name)
	d.ComputeCapability, d.CUDAVersion, d.DriverVersion = "9.0.0", "13.0.0", "580.65.6"
	return d
}

func sharedBy(mode v1alpha1.SharingMode, shares int32, edits ...func(*v1alpha1.Offer)) v1alpha1.Offer {
	o := v1alpha1.Offer{Name: "quarter", Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}, Sharing: &v1alpha1.OfferSharing{Mode: mode, Shares: shares}}
	for _, e := range edits {
		e(&o)
	}
	return o
}

func ofMemory(each string) func(*v1alpha1.Offer) {
	return func(o *v1alpha1.Offer) { o.Sharing.MemoryPerShare = each }
}

func ofThreads(percent int32) func(*v1alpha1.Offer) {
	return func(o *v1alpha1.Offer) { o.Sharing.MPS = &v1alpha1.MPSSettings{ActiveThreadPercentage: &percent} }
}

func taking(interval string) func(*v1alpha1.Offer) {
	return func(o *v1alpha1.Offer) {
		o.Sharing.TimeSlicing = &v1alpha1.TimeSlicingSettings{Interval: interval}
	}
}

func requiring(what ...v1alpha1.Isolation) func(*v1alpha1.Offer) {
	return func(o *v1alpha1.Offer) { o.Requires = what }
}

// What a shared offer makes of a GPU, and why it makes nothing of it.
func TestOfferedShares(t *testing.T) {
	d := h100(t, "gpu-0")
	old, p4, unified, limited := d, device("gpu-0", Ready), d, d
	old.CUDAVersion = "11.4.0"
	p4.Product, p4.ComputeCapability, p4.MemoryBytes = "Tesla P4", "6.1.0", 7680<<20
	unified.Product, unified.MemoryBytes = "NVIDIA GB10", 0
	limited.MemoryLimits = true
	up := Means{MPS: Supervision{Up: true, MultiUser: true}, NoContainerLimits: "the node has cgroup v1"}
	down := Means{MPS: Supervision{Why: "nothing listens"}, NoContainerLimits: "the node has cgroup v1"}
	v2 := Means{MPS: up.MPS, ContainerLimits: true}
	noInterval := Means{NoInterval: map[string]string{p4.Address: "not supported"}}
	mps := func(shares int, mib int64, threads int, m MemoryLimit) *Shared {
		return &Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: shares, MemoryMiB: mib, ActiveThreads: threads, Memory: m}
	}
	turns := func(shares int, mib int64, m MemoryLimit) *Shared {
		return &Shared{Offer: "quarter", Mode: v1alpha1.TimeSlicing, Shares: shares, MemoryMiB: mib, Memory: m}
	}
	short := *turns(2, 39505, MemoryUnlimited)
	short.Interval = "Short"
	for name, c := range map[string]struct {
		device   Device
		offer    v1alpha1.Offer
		can      Abilities
		has      Means
		want     *Shared
		withheld string
	}{
		// 81559 MiB less a 32nd is 79011.
		"equal":              {d, sharedBy(v1alpha1.MPS, 4), everything, up, mps(4, 19752, 25, MemoryPerProcess), ""},
		"equal, in turns":    {d, sharedBy(v1alpha1.TimeSlicing, 8), everything, down, turns(8, 9876, MemoryUnlimited), ""},
		"as is said":         {d, sharedBy(v1alpha1.MPS, 4, ofMemory("18Gi"), ofThreads(40)), everything, up, mps(4, 18432, 40, MemoryPerProcess), ""},
		"all of the memory":  {d, sharedBy(v1alpha1.MPS, 2, ofMemory("40779Mi")), everything, up, mps(2, 40779, 50, MemoryPerProcess), ""},
		"more than there is": {d, sharedBy(v1alpha1.MPS, 2, ofMemory("40780Mi")), everything, up, nil, "2 shares of 40780Mi are more than the 81559 MiB that NVIDIA H100 80GB HBM3 has; at most 40779Mi fit"},
		"memory of none":     {unified, sharedBy(v1alpha1.TimeSlicing, 2, ofMemory("1Gi")), everything, up, nil, "memoryPerShare is set, and NVIDIA GB10 tells no memory of its own"},
		"unified":            {unified, sharedBy(v1alpha1.MPS, 2), everything, up, mps(2, 0, 50, MemoryUnlimited), ""},
		"a short turn":       {d, sharedBy(v1alpha1.TimeSlicing, 2, taking("Short")), everything, up, &short, ""},
		"no turn to set":     {p4, sharedBy(v1alpha1.TimeSlicing, 2, taking("Short")), everything, noInterval, nil, "the time-slice interval of Tesla P4 cannot be set: not supported"},
		"nor asked for":      {p4, sharedBy(v1alpha1.TimeSlicing, 2), everything, noInterval, turns(2, 3720, MemoryUnlimited), ""},
		"MPS before Volta":   {p4, sharedBy(v1alpha1.MPS, 2), everything, up, nil, "MPS serves several tenants from compute capability 7.0 on; Tesla P4 has 6.1.0"},
		"MPS for one user":   {d, sharedBy(v1alpha1.MPS, 2), everything, Means{MPS: Supervision{Up: true}}, nil, "the MPS control daemon of this driver cannot serve several users"},
		"no supervisor":      {d, sharedBy(v1alpha1.MPS, 2), everything, down, nil, "no MPS control daemon can be run on this node: nothing listens"},
		"no gate":            {d, sharedBy(v1alpha1.MPS, 2), Abilities{Partitions: true, WhyNoShares: "the gate is off"}, up, nil, "the gate is off"},
		"mode on":            {divisible(t, "A100-40", "gpu-0").on(), sharedBy(v1alpha1.TimeSlicing, 2), everything, up, nil, "MIG mode is on, so that no container can use the whole GPU"},
		"somebody's parts":   {d.on(d.theirs(t, "3g.40gb", 4)), sharedBy(v1alpha1.TimeSlicing, 2), everything, up, nil, "it has 1 MIG instances that somebody else made"},
		"too many":           {d, sharedBy(v1alpha1.TimeSlicing, 49), everything, up, nil, "shares is 49; it must be 2 to 48"},

		"limits of containers":           {limited, sharedBy(v1alpha1.TimeSlicing, 8), everything, v2, turns(8, 9876, MemoryPerContainer), ""},
		"limits of both":                 {limited, sharedBy(v1alpha1.MPS, 4), everything, v2, mps(4, 19752, 25, MemoryPerContainer), ""},
		"limits, driver too old":         {d, sharedBy(v1alpha1.TimeSlicing, 8), everything, v2, turns(8, 9876, MemoryUnlimited), ""},
		"limits, cgroup v1":              {limited, sharedBy(v1alpha1.TimeSlicing, 8), everything, up, turns(8, 9876, MemoryUnlimited), ""},
		"MPS before memory limits":       {old, sharedBy(v1alpha1.MPS, 4), everything, up, mps(4, 19752, 25, MemoryUnlimited), ""},
		"requires limits, cgroup v1":     {limited, sharedBy(v1alpha1.TimeSlicing, 8, requiring("MemoryLimit")), everything, up, nil, "it requires MemoryLimit, which is not reached here: the node has cgroup v1"},
		"requires limits, old driver":    {d, sharedBy(v1alpha1.TimeSlicing, 8, requiring("MemoryLimit")), everything, v2, nil, "it requires MemoryLimit, which is not reached here: driver 580.65.6 has no memory limits for this GPU"},
		"requires limits and has them":   {limited, sharedBy(v1alpha1.TimeSlicing, 8, requiring("MemoryLimit")), everything, v2, turns(8, 9876, MemoryPerContainer), ""},
		"requires both, MPS":             {d, sharedBy(v1alpha1.MPS, 4, requiring("MemoryLimit", "ComputeLimit")), everything, up, mps(4, 19752, 25, MemoryPerProcess), ""},
		"requires threads, in turns":     {d, sharedBy(v1alpha1.TimeSlicing, 4, requiring("ComputeLimit")), everything, up, nil, "it requires ComputeLimit, which is not reached here: processes that take turns have all multiprocessors"},
		"requires threads, all of them":  {d, sharedBy(v1alpha1.MPS, 4, ofThreads(100), requiring("ComputeLimit")), everything, up, nil, "it requires ComputeLimit, which is not reached here: activeThreadPercentage is 100"},
		"requires isolation of faults":   {d, sharedBy(v1alpha1.MPS, 4, requiring("FaultIsolation")), everything, up, nil, "it requires FaultIsolation, which is not reached here: sharers of a GPU share faults"},
		"requires what nobody knows yet": {d, sharedBy(v1alpha1.MPS, 4, requiring("Confidential")), everything, up, nil, "it requires Confidential, which is not reached here"},
	} {
		t.Run(name, func(t *testing.T) {
			slots, _, withheld := Offered(c.device, []v1alpha1.Offer{c.offer}, c.can, c.has)
			var got *Shared
			if len(slots) > 0 {
				got = slots[0].Shared
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			why := ""
			if len(withheld) > 0 {
				why = withheld[0].Why
			}
			if !strings.HasPrefix(why, c.withheld) || (why == "") != (c.want != nil) {
				t.Errorf("withheld %q, want %q", why, c.withheld)
			}
		})
	}
}

// Claims are allocated under the name: the same settings have the same one in every
// release, and others another.
func TestShareNames(t *testing.T) {
	s := Shared{Offer: "quarter", Mode: v1alpha1.MPS, Shares: 4, MemoryMiB: 19752, ActiveThreads: 25, Memory: MemoryPerProcess}
	if got := ShareName("gpu-3", s); got != "gpu-3-quarter-9fb0" {
		t.Errorf("it is called %s", got)
	}
	others := []Shared{s, s, s, s, s, s, s}
	others[0].Offer = "half"
	others[1].Mode = v1alpha1.TimeSlicing
	others[2].Shares = 5
	others[3].MemoryMiB++
	others[4].ActiveThreads++
	others[5].Interval = "Short"
	others[6].Memory = MemoryPerContainer
	seen := map[string]bool{ShareName("gpu-3", s): true}
	for _, o := range others {
		name := ShareName("gpu-3", o)
		if seen[name] {
			t.Errorf("%+v has the name of another one: %s", o, name)
		}
		seen[name] = true
		if GPUOf(name) != "gpu-3" || TypeOf(name) != "gpu-share" {
			t.Errorf("%s is of %q and a %q", name, GPUOf(name), TypeOf(name))
		}
	}
}

// A slot whose supervisor is away for a moment stays published, and is not handed
// out; a new one waits for the supervisor.
func TestSharesOutliveTheirSupervisor(t *testing.T) {
	d := h100(t, "gpu-0")
	p := policy("p", 0, 0)
	p.Spec.Offers = []v1alpha1.Offer{sharedBy(v1alpha1.MPS, 4)}
	c := Cluster{Policies: []v1alpha1.SharingPolicy{p}, Can: everything}
	up := Standing{Has: Means{MPS: Supervision{Up: true, MultiUser: true}}, Now: 50}
	before := Offerings([]Device{d}, c, up)[0]
	if len(before.Slots) != 1 || before.broken(before.Slots[0]) != "" {
		t.Fatalf("with the supervisor: %+v", before.Slots)
	}
	down := Standing{Has: Means{MPS: Supervision{Why: "nothing listens"}}, Now: 60}
	if o := Offerings([]Device{d}, c, down)[0]; len(o.Slots) != 0 {
		t.Errorf("published without a supervisor: %+v", o.Slots)
	}
	down.Listed = map[string][]Listed{d.Address: before.Slots}
	after := Offerings([]Device{d}, c, down)[0]
	if len(after.Slots) != 1 || after.Slots[0].Retiring != 0 {
		t.Fatalf("when the supervisor is away: %+v", after.Slots)
	}
	if got := after.taints(after.Slots[0]); len(got) != 1 || got[0].Key != "cotenant.dev/broken" || got[0].Effect != "NoSchedule" {
		t.Errorf("taints %v", got)
	}
	// A daemon that is started for its first client is none that broke.
	name := before.Slots[0].Name
	for state, want := range map[DaemonState]string{
		{Ready: true, Restarts: 1}:               "",
		{Why: "is started"}:                      "",
		{Why: "killed", BrokenSince: 1796000000}: "killed",
		{Ready: true, Why: "was restarted"}:      "",
	} {
		o := before
		o.supervision.Daemons = map[string]DaemonState{name: state}
		if got := o.broken(o.Slots[0]); got != want {
			t.Errorf("%+v: broken %q, want %q", state, got, want)
		}
	}
}
