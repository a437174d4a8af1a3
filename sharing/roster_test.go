// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"
	"pgregory.net/rapid"
)

func gpu(address string, minor int) GPU {
	return GPU{Address: address, Minor: minor, UUID: "GPU-" + address}
}

func present(gpus ...GPU) []Present {
	var out []Present
	for _, g := range gpus {
		out = append(out, Present{GPU: g})
	}
	return out
}

func conditions(devices []Device) map[string]Condition {
	out := map[string]Condition{}
	for _, d := range devices {
		out[d.Name+"@"+d.Address] = d.Condition
	}
	return out
}

func TestRoster(t *testing.T) {
	a, b := gpu("0000:01:00.0", 0), gpu("0000:02:00.0", 1)
	named := func(g GPU, name string) GPU { g.Name = name; return g }
	known := map[string]Known{a.Address: {GPU: named(a, "gpu-0"), Boot: "now"}, b.Address: {GPU: named(b, "gpu-1"), Boot: "now"}}
	for name, c := range map[string]struct {
		look    Look
		known   map[string]Known
		fences  map[string]Fence
		suspect string
		want    map[string]Condition
	}{
		"first look": {look: Look{Boot: "now", GPUs: present(b, a)},
			want: map[string]Condition{"gpu-0@0000:01:00.0": Ready, "gpu-1@0000:02:00.0": Ready}},
		"sick at a first look": {look: Look{Boot: "now", GPUs: present(a), Sick: []Sick{{Address: b.Address, Why: "x"}}},
			want: map[string]Condition{"gpu-0@0000:01:00.0": Ready}},
		"gone in this boot": {look: Look{Boot: "now", GPUs: present(a)}, known: known,
			want: map[string]Condition{"gpu-0@0000:01:00.0": Ready, "gpu-1@0000:02:00.0": Lost}},
		"taken out before this boot": {look: Look{Boot: "next", GPUs: present(a)}, known: known,
			want: map[string]Condition{"gpu-0@0000:01:00.0": Ready}},
		"minors moved": {look: Look{Boot: "next", GPUs: present(gpu(b.Address, 0), gpu(a.Address, 1))}, known: known,
			want: map[string]Condition{"gpu-0@0000:01:00.0": Ready, "gpu-1@0000:02:00.0": Ready}},
		"a new one with a taken minor": {look: Look{Boot: "now", GPUs: present(a, b, gpu("0000:03:00.0", 1))}, known: known,
			want: map[string]Condition{"gpu-0@0000:01:00.0": Ready, "gpu-1@0000:02:00.0": Ready, "gpu-2@0000:03:00.0": Ready}},
		"suspect": {look: Look{Boot: "now", GPUs: present(a)}, suspect: "lost records",
			want: map[string]Condition{"gpu-0@0000:01:00.0": Held}},
		"fenced": {look: Look{Boot: "now", GPUs: present(a)}, fences: map[string]Fence{a.Address: {Condition: Fenced}},
			want: map[string]Condition{"gpu-0@0000:01:00.0": Fenced}},
	} {
		t.Run(name, func(t *testing.T) {
			devices, _ := Roster(c.look, c.known, c.fences, c.suspect)
			if d := cmp.Diff(c.want, conditions(devices)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What was remembered is not news, whatever the order of the look.
func TestRosterRemembersOnce(t *testing.T) {
	look := Look{Boot: "b", GPUs: present(gpu("0000:01:00.0", 0), gpu("0000:02:00.0", 1))}
	node := 1
	look.GPUs[0].NUMANode = &node
	_, news := Roster(look, nil, nil, "")
	if len(news) != 2 {
		t.Fatalf("%d news, want 2", len(news))
	}
	known := map[string]Known{}
	for _, k := range news {
		known[k.Address] = k
	}
	same := 1
	look.GPUs[0].NUMANode = &same
	look.GPUs[0], look.GPUs[1] = look.GPUs[1], look.GPUs[0]
	if _, news = Roster(look, known, nil, ""); len(news) != 0 {
		t.Errorf("news of what is known: %+v", news)
	}
}

// Whether there are memory limits is remembered while the GPU cannot say: an offer
// does not go away when the plugin starts on a partitioned GPU. Another driver, or
// another GPU in its place, has to be asked anew.
func TestMemoryLimitsAreRemembered(t *testing.T) {
	was := gpu("0000:01:00.0", 0)
	was.UUID, was.DriverVersion, was.MemoryLimits = "GPU-a", "615.20.01", true
	known := map[string]Known{was.Address: {GPU: was, Boot: "b"}}
	for name, c := range map[string]struct {
		change func(*Present)
		want   bool
	}{
		"partitioned":    {func(g *Present) { g.On = true }, true},
		"not":            {func(*Present) {}, false},
		"another driver": {func(g *Present) { g.On, g.DriverVersion = true, "580.65.06" }, false},
		"another GPU":    {func(g *Present) { g.On, g.UUID = true, "GPU-b" }, false},
	} {
		now := present(was)[0]
		now.MemoryLimits = false // as the driver says it
		c.change(&now)
		devices, _ := Roster(Look{Boot: "b", GPUs: []Present{now}}, known, nil, "")
		if got := devices[0].MemoryLimits; got != c.want {
			t.Errorf("%s: memory limits %t, want %t", name, got, c.want)
		}
	}
}

// A name never passes from one piece of hardware to another, and no two have one.
func TestNamesStayWithTheHardware(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := Names{}
		for range rapid.IntRange(1, 10).Draw(t, "boots") {
			var gpus []GPU
			for _, a := range rapid.SliceOfDistinct(rapid.IntRange(0, 9), func(i int) int { return i }).Draw(t, "present") {
				gpus = append(gpus, gpu(fmt.Sprintf("0000:0%d:00.0", a), rapid.IntRange(0, 9).Draw(t, "minor")))
			}
			now := known.Assign(gpus)
			for address, name := range now {
				if before, ok := known[address]; ok && before != name {
					t.Fatalf("%s was %s and is %s", address, before, name)
				}
				known[address] = name
			}
			owner := map[string]string{}
			for address, name := range known {
				if other, taken := owner[name]; taken {
					t.Fatalf("%s and %s are both %s", address, other, name)
				}
				owner[name] = address
			}
		}
	})
}

func published(d Device) Offering {
	return Offering{Device: d, Slots: []Listed{{Slot: Slot{Name: d.Name}}}}
}

func TestPublishOrder(t *testing.T) {
	var offerings []Offering
	for _, i := range []int{10, 2, 0, 1} {
		offerings = append(offerings, published(Device{GPU: GPU{Name: fmt.Sprintf("gpu-%d", i), Address: fmt.Sprintf("0000:%02d:00.0", i)}, Condition: Ready}))
	}
	var got []string
	for _, slice := range Publish(offerings, Abilities{Partitions: true}) {
		if len(slice.Devices) != 1 || len(slice.Counters) != 0 || len(slice.Devices[0].ConsumesCounters) != 0 {
			t.Errorf("%d devices and %d counter sets in a GPU's slice, want one device and none", len(slice.Devices), len(slice.Counters))
		}
		got = append(got, slice.Devices[0].Name)
	}
	if d := cmp.Diff([]string{"gpu-0", "gpu-1", "gpu-2", "gpu-10"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPublishTaints(t *testing.T) {
	for condition, key := range map[Condition]string{Lost: "gpu.nvidia.com/gpu-lost", Held: "cotenant.dev/held", Fenced: "cotenant.dev/fenced"} {
		d := Publish([]Offering{published(Device{GPU: GPU{Name: "gpu-0"}, Condition: condition})}, Abilities{})[0].Devices[0]
		if len(d.Taints) != 1 || d.Taints[0].Key != key || d.Taints[0].Effect != resourceapi.DeviceTaintEffectNoSchedule {
			t.Errorf("%s: taints %+v, want %s", condition, d.Taints, key)
		}
	}
}

func TestSemver(t *testing.T) {
	for in, want := range map[string]string{
		"535.129.03": "535.129.3", "595.58.03": "595.58.3", "8.0": "8.0.0", "12.2": "12.2.0", "550": "550.0.0",
		"580.65.06.01": "580.65.6", "": "", "x.1": "", "535.129.03-beta": "",
	} {
		if got := Semver(in); got != want {
			t.Errorf("Semver(%q) = %q, want %q", in, got, want)
		}
	}
}
