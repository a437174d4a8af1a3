// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// golden reads a file of testdata. None is ever written by a test: each follows
// from what the upstream driver publishes and the tables of the product, and a
// person has to agree with every line that changes.
func golden(t *testing.T, name string) any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, raw)
}

func parsed(t *testing.T, raw []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// asSpecs writes slices with the names that ResourceSlices have.
func asSpecs(t *testing.T, got []Slice) any {
	t.Helper()
	type spec struct {
		SharedCounters []resourceapi.CounterSet `json:"sharedCounters,omitempty"`
		Devices        []resourceapi.Device     `json:"devices,omitempty"`
	}
	var specs []spec
	for _, s := range got {
		specs = append(specs, spec{s.Counters, s.Devices})
	}
	raw, err := json.Marshal(specs)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, raw)
}

// offered is what is published of a device that nothing was published of.
func offered(d Device, policy string, offers ...v1alpha1.Offer) Offering {
	o := Offering{Device: d, Owner: Ownership{Policy: policy, Offers: offers}}
	slots, _, withheld := Offered(d, offers, everything, Means{})
	o.Slots, o.Withheld = Turnover(nil, slots, everything, 1), withheld
	return o
}

// Attributes and their types, capacities, counters and what each device takes of
// them, as selectors written for the upstream driver find them.
func TestPublishedH100(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	node := 0
	d.Address, d.UUID, d.Brand, d.Architecture, d.ComputeCapability = "0000:65:00.0", "GPU-1", "Nvidia", "Hopper", "9.0.0"
	d.DriverVersion, d.CUDAVersion, d.PCIeRoot, d.NUMANode, d.AddressingMode = "535.129.3", "12.2.0", "pci0000:64", &node, "HMM"
	got := Publish([]Offering{offered(d, "inference", wholeGPU(), onDemand("3g.40gb", "1g.10gb+me"))}, everything)
	if diff := cmp.Diff(golden(t, "published-h100.json"), asSpecs(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same of a GPU on which somebody made an instance and uses it, with a device
// that retires.
func TestPublishedA100WithAnInstance(t *testing.T) {
	d := divisible(t, "A100-40", "gpu-1")
	d.Address, d.UUID, d.Brand, d.Architecture, d.ComputeCapability = "0000:ca:00.0", "GPU-2", "Nvidia", "Ampere", "8.0.0"
	d.DriverVersion, d.CUDAVersion, d.PCIeRoot = "535.129.3", "12.2.0", "pci0000:64"
	inst := d.theirs(t, "3g.20gb", 4)
	inst.UUID, inst.Stray = "MIG-932bfb2c", true
	o := offered(d.on(inst), "default", existing(), onDemand("1g.10gb", "4g.20gb"))
	late := offered(d.on(), "default", onDemand("2g.10gb")).Slots[0]
	late.Retiring = 7
	o.Slots = append(o.Slots, late)
	if diff := cmp.Diff(golden(t, "published-a100-with-an-instance.json"), asSpecs(t, Publish([]Offering{o}, everything))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The whole GPU has NVML's total, whatever its partitions add up to; a GPU that
// tells none has none.
func TestMemoryOfAWholeGPU(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	memory := func() (resourceapi.DeviceCapacity, bool) {
		devices := Publish([]Offering{offered(d, "p", wholeGPU(), onDemand("7g.80gb"))}, everything)[1].Devices
		c, ok := devices[len(devices)-1].Capacity["memory"]
		return c, ok
	}
	if c, _ := memory(); c.Value.Value() != 81559<<20 {
		t.Errorf("its memory is %s, want 81559Mi", c.Value.String())
	}
	d.MemoryBytes = 0
	if c, told := memory(); told {
		t.Errorf("its memory is %s, want none", c.Value.String())
	}
}

// Eight counter sets go into one slice, and each GPU's devices into one of their
// own; GPUs with one device have no counters.
func TestCounterSetsHaveSlicesOfTheirOwn(t *testing.T) {
	var offerings []Offering
	for i := range 19 {
		offers := []v1alpha1.Offer{wholeGPU(), onDemand("7g.80gb")}
		if i%2 == 1 {
			offers = offers[:1]
		}
		offerings = append(offerings, offered(divisible(t, "H100-80", fmt.Sprintf("gpu-%d", i)), "p", offers...))
	}
	slices.Reverse(offerings)
	var got []string
	for _, s := range Publish(offerings, everything) {
		if len(s.Counters) > 0 {
			got = append(got, fmt.Sprintf("%d counter sets from %s", len(s.Counters), s.Counters[0].Name))
			continue
		}
		got = append(got, fmt.Sprintf("%s: %d of %d take counters", s.Devices[len(s.Devices)-1].Name, counted(s.Devices), len(s.Devices)))
	}
	want := []string{"8 counter sets from gpu-0-counter-set", "2 counter sets from gpu-16-counter-set"}
	for i := range 19 {
		if i%2 == 0 {
			want = append(want, fmt.Sprintf("gpu-%d: 2 of 2 take counters", i))
		} else {
			want = append(want, fmt.Sprintf("gpu-%d: 0 of 1 take counters", i))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func counted(devices []resourceapi.Device) int {
	n := 0
	for _, d := range devices {
		n += len(d.ConsumesCounters)
	}
	return n
}

// A device that was published under another driver may have more of something
// than any profile has now: the counters are enough for it all the same.
func TestCountersCoverWhatIsListed(t *testing.T) {
	d := divisible(t, "H100-80", "gpu-0")
	o := offered(d, "p", wholeGPU())
	old := offered(d, "p", onDemand("7g.80gb")).Slots[0]
	profile := old.Part.Profile
	profile.OFAEngines, profile.MemoryMiB = 5, 99999
	old.Part = &Part{Profile: profile, Placement: old.Part.Placement}
	old.Retiring = 3
	o.Slots = append(o.Slots, old)
	got := Publish([]Offering{o}, everything)
	for _, dev := range got[1].Devices {
		for name, c := range dev.ConsumesCounters[0].Counters {
			all := got[0].Counters[0].Counters[name]
			if all.Value.Cmp(c.Value) < 0 {
				t.Errorf("%s takes %s %s, and there are %s", dev.Name, c.Value.String(), name, all.Value.String())
			}
		}
	}
	ofa := got[0].Counters[0].Counters["ofa-engines"]
	if ofa.Value.Value() != 5 {
		t.Errorf("%s ofa-engines are counted, want 5", ofa.Value.String())
	}
}
