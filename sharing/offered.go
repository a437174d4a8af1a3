// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
)

// Abilities are what the cluster lets be expressed. The zero value is the least.
type Abilities struct {
	// Partitions: devices that share hardware can be published, because the API
	// server keeps their counters and the allocator honours them.
	Partitions bool
	// Why not, in words; "" when they can.
	Why string
	// Shares: devices that several claims have at a time can be published too. It
	// takes partitions: a shared GPU is the same hardware as the whole one.
	Shares bool
	// WhyNoShares is in words; "" when they can.
	WhyNoShares string
}

// Withheld is an offer that a GPU does not publish, and why.
type Withheld struct {
	Offer string
	Why   string
}

// allProfiles in the profiles of an offer stands for every profile.
const allProfiles = "*"

// maxDevices is how many devices a ResourceSlice may have that uses counters or
// taints (resource.k8s.io, ResourceSliceMaxDevicesWithAdvancedFeatures).
const maxDevices = 64

// Offered returns the slots that the offers make of a GPU as it is now, in the
// order in which they are to be handed out: small before large, the whole GPU
// last, and behind it the shared slots, likewise small before large.
//
// Asleep are slots that are not offered only for want of the MPS supervisor: where
// one is published already it stays.
func Offered(d Device, offers []v1alpha1.Offer, can Abilities, has Means) (slots, asleep []Slot, withheld []Withheld) {
	o := offering{device: d, can: can, has: has}
	for _, offer := range offers {
		o.wanted(offer)
	}
	return o.slots(), o.asleep, o.withheld
}

// offering sums up what offers want of one GPU.
type offering struct {
	device   Device
	can      Abilities
	has      Means
	whole    bool
	existing bool
	profiles []int // ids
	shared   []Slot
	asleep   []Slot
	withheld []Withheld
}

func (o *offering) withhold(offer, format string, args ...any) {
	o.withheld = append(o.withheld, Withheld{Offer: offer, Why: fmt.Sprintf(format, args...)})
}

func (o *offering) wanted(offer v1alpha1.Offer) {
	switch {
	case offer.Sharing != nil:
		o.wantShares(offer)
	case offer.Device.Type == v1alpha1.DeviceGPU:
		o.wantWhole(offer)
	case offer.Device.MIG == nil:
		o.withhold(offer.Name, "it does not say which partitions")
	case offer.Device.MIG.Source == v1alpha1.MIGExisting:
		o.existing = true
	default:
		o.wantProfiles(offer)
	}
}

func (o *offering) wantWhole(offer v1alpha1.Offer) {
	switch why := o.device.divides(); {
	case why != nil:
		o.withhold(offer.Name, "%s", why)
	case !o.can.Partitions && len(o.device.Instances) > 0:
		o.withhold(offer.Name, "it has MIG instances, and %s", o.can.Why)
	default:
		o.whole = true
	}
}

// divides says why no claim can have all of the GPU, or nil.
func (d Device) divides() error {
	switch {
	case d.On && (d.MIG == nil || !d.MIG.Switchable):
		return fmt.Errorf("MIG mode is on, so that no container can use the whole GPU, and changing it needs a reset: nvidia-smi -i %s -mig 0, then reset the GPU or reboot the node", d.UUID)
	case len(d.foreign()) > 0:
		return fmt.Errorf("it has %d MIG instances that somebody else made: nvidia-smi mig -lgi -i %s", len(d.foreign()), d.UUID)
	}
	return nil
}

func (o *offering) wantShares(offer v1alpha1.Offer) {
	err := o.device.divides()
	if err == nil && !o.can.Shares {
		err = errors.New(o.can.WhyNoShares)
	}
	var s Shared
	if err == nil {
		s, err = o.device.divided(offer, o.has)
	}
	if err != nil {
		o.withhold(offer.Name, "%s", err)
		return
	}
	slot := Slot{Name: ShareName(o.device.Name, s), Shared: &s}
	if s.Mode == v1alpha1.MPS && !o.has.MPS.Up {
		o.asleep = append(o.asleep, slot)
		o.withhold(offer.Name, "no MPS control daemon can be run on this node: %s", o.has.MPS.Why)
		return
	}
	o.shared = append(o.shared, slot)
}

func (o *offering) wantProfiles(offer v1alpha1.Offer) {
	if err := o.device.partitionable(); err != nil {
		o.withhold(offer.Name, "%s", err)
		return
	}
	if !o.can.Partitions {
		o.withhold(offer.Name, "%s", o.can.Why)
		return
	}
	geometry := o.device.MIG.Geometry
	for _, name := range offer.Device.MIG.Profiles {
		found := false
		for _, p := range geometry {
			if name == allProfiles || name == p.Name {
				found = true
				o.profiles = append(o.profiles, p.ID)
			}
		}
		if !found {
			o.withhold(offer.Name, "%s has no profile %q; it has %s", o.device.Product, name, strings.Join(profileNames(geometry), ", "))
		}
	}
}

func profileNames(g mig.Geometry) []string {
	var out []string
	for _, p := range g {
		out = append(out, p.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *offering) slots() []Slot {
	var out []Slot
	foreign := o.device.foreign()
	if o.device.MIG != nil {
		var beside []mig.Partition
		for _, f := range foreign {
			beside = append(beside, f.Partition)
		}
		geometry := o.device.MIG.Geometry
		for _, p := range geometry.Partitions() {
			profile, _ := geometry.Profile(p.Profile)
			if inst, ok := o.device.foreignAt(p); ok {
				if o.existing && inst.UUID != "" {
					out = append(out, o.part(profile, p.Placement, inst.UUID))
				}
				continue
			}
			if slices.Contains(o.profiles, p.Profile) && geometry.Fits(beside, p) == nil {
				out = append(out, o.part(profile, p.Placement, ""))
			}
		}
	}
	if o.whole {
		out = append(out, Slot{Name: o.device.Name})
	}
	slices.SortStableFunc(o.shared, func(a, b Slot) int { return cmp.Compare(b.Shared.Shares, a.Shared.Shares) })
	return append(out, o.shared...)
}

func (o *offering) part(p mig.Profile, at mig.Placement, uuid string) Slot {
	name := PartitionName(o.device.Name, p, at.Start)
	p.Placements = nil
	return Slot{Name: name, Part: &Part{Profile: p, Placement: at, UUID: uuid}}
}
