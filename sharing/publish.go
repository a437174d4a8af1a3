// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// Slice is the content of one ResourceSlice: counter sets or devices.
type Slice struct {
	Counters []resourceapi.CounterSet
	Devices  []resourceapi.Device
}

// maxCounterSets is how many counter sets a ResourceSlice may have
// (resource.k8s.io, ResourceSliceMaxCounterSets).
const maxCounterSets = 8

// Publish returns what the API server is told about the GPUs: first the counter
// sets, in slices of their own, then one slice of devices per GPU, so that a
// change on one GPU rewrites one slice, and at last the shared devices. The order is
// that of the published names and does not depend on the order of the input; that of
// the shared devices is the reverse, so that shares fill the node from one end and
// whole GPUs and partitions from the other.
//
// Names, attributes, their types, capacities and counters are those of the
// upstream driver, so that selectors written for it keep matching. A GPU that
// publishes one device needs no counters, and where the cluster would not keep
// them there are none: then nothing that overlaps is among the slots.
func Publish(offerings []Offering, can Abilities) []Slice {
	sorted := slices.Clone(offerings)
	slices.SortFunc(sorted, func(a, b Offering) int { return compareNames(a.Name, b.Name) })
	var sets []resourceapi.CounterSet
	var devices, shared []Slice
	for _, o := range sorted {
		if o.Slots = visible(o.Slots, can); len(o.Slots) == 0 {
			continue
		}
		o.counted = can.Partitions && len(o.Slots) > 1
		if o.counted {
			sets = append(sets, resourceapi.CounterSet{Name: o.counterSet(), Counters: counters(o.total())})
		}
		own, shares := o.devices()
		if len(own) > 0 {
			devices = append(devices, Slice{Devices: own})
		}
		if len(shares) > 0 {
			shared = append(shared, Slice{Devices: shares})
		}
	}
	var out []Slice
	for chunk := range slices.Chunk(sets, maxCounterSets) {
		out = append(out, Slice{Counters: chunk})
	}
	slices.Reverse(shared)
	return append(append(out, devices...), packed(shared)...)
}

// packed puts the devices of consecutive slices together as far as they fit.
func packed(all []Slice) []Slice {
	var out []Slice
	for _, s := range all {
		if n := len(out); n > 0 && len(out[n-1].Devices)+len(s.Devices) <= maxDevices {
			out[n-1].Devices = append(out[n-1].Devices, s.Devices...)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (o Offering) counterSet() string { return o.Name + "-counter-set" }

// total is what the whole GPU has; one that cannot be partitioned is counted as
// itself. A slot that was published under an earlier
// driver may have more of something than any profile has now.
func (o Offering) total() mig.Amounts {
	total := mig.Amounts{{Name: "gpus", Value: 1}}
	if o.MIG != nil {
		total = o.MIG.Geometry.Total()
	}
	for _, l := range o.Slots {
		if l.Part != nil {
			total = total.Cover(l.Part.cost())
		}
	}
	return total
}

func counters(amounts mig.Amounts) map[string]resourceapi.Counter {
	out := make(map[string]resourceapi.Counter, len(amounts))
	for _, a := range amounts {
		out[a.Name] = resourceapi.Counter{Value: quantity(a)}
	}
	return out
}

// quantity writes an amount as the upstream driver does: bytes in powers of 1024.
func quantity(a mig.Amount) resource.Quantity {
	return *resource.NewQuantity(a.Value, resource.BinarySI)
}

// devices are the GPU's devices in the order of its slots: those that one claim has
// at a time, and the shared ones.
func (o Offering) devices() (own, shared []resourceapi.Device) {
	for _, l := range o.Slots {
		var dev resourceapi.Device
		amounts := o.total()
		switch {
		case l.Shared != nil:
			dev = o.sharedDevice(l)
		case l.Part != nil:
			amounts = l.Part.cost()
			dev = o.partDevice(l, amounts)
		default:
			dev = o.wholeDevice(amounts)
		}
		dev.Taints = o.taints(l)
		if o.counted {
			dev.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: o.counterSet(), Counters: counters(amounts)}}
		}
		if l.Shared != nil {
			shared = append(shared, dev)
		} else {
			own = append(own, dev)
		}
	}
	return own, shared
}

// Sorted returns the devices of a roster by name in the order they are published.
func Sorted(byName map[string]Device) []Device {
	return slices.SortedFunc(maps.Values(byName), func(a, b Device) int { return compareNames(a.Name, b.Name) })
}

// compareNames orders "gpu-2" before "gpu-10".
func compareNames(a, b string) int {
	if len(a) != len(b) && strings.HasPrefix(a, "gpu-") && strings.HasPrefix(b, "gpu-") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// taints keep claims from a slot that may not be handed out.
func (o Offering) taints(l Listed) []resourceapi.DeviceTaint {
	var out []resourceapi.DeviceTaint
	add := func(key string) {
		out = append(out, resourceapi.DeviceTaint{Key: key, Effect: resourceapi.DeviceTaintEffectNoSchedule})
	}
	key := map[Condition]string{Lost: api.TaintGPULost, Held: api.TaintHeld, Fenced: api.TaintFenced}[o.Condition]
	switch {
	case key != "":
		add(key)
	case l.Part == nil && o.Stuck != "", o.stray(l):
		add(api.TaintHeld)
	}
	if o.broken(l) != "" {
		add(api.TaintBroken)
	}
	if l.Retiring != 0 {
		add(api.TaintRetired)
	}
	return out
}

// stray says whether the slot is an instance that somebody uses without a claim.
func (o Offering) stray(l Listed) bool {
	for _, i := range o.Instances {
		if l.Part != nil && i.UUID != "" && i.UUID == l.Part.UUID {
			return i.Stray
		}
	}
	return false
}

// Semver turns a version as NVIDIA writes it into the three numbers that a
// version attribute takes: "535.129.03" is "535.129.3", "8.0" is "8.0.0". What
// is not made of numbers yields "".
func Semver(v string) string {
	parts := strings.Split(v, ".")
	if len(parts) > 3 {
		parts = parts[:3]
	}
	out := []string{"0", "0", "0"}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			return ""
		}
		out[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(out, ".")
}
