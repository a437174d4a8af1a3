// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// PartitionName is the device name of a partition, as the upstream driver makes
// it: gpu-0-mig-1g10gb-me-20-3. Other tools take it apart again.
func PartitionName(gpu string, p mig.Profile, start int) string {
	return fmt.Sprintf("%s-mig-%s-%d-%d", gpu, profileInName(p.Name), p.ID, start)
}

// profileInName turns a profile's name into a part of a DNS label: without dots,
// lower case, anything else that is not allowed as a dash.
func profileInName(profile string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.ReplaceAll(profile, ".", "")))
	return strings.Trim(clean, "-")
}

// ShareName is the device name of a shared GPU: gpu-0-quarter-4f2a. Other settings
// of the same offer have another name.
func ShareName(gpu string, s Shared) string {
	return gpu + "-" + s.Offer + "-" + s.fingerprint()
}

// slotName takes apart the three kinds of names: the GPU's, that of a partition,
// and that of a share. No name is of two kinds: a share's ends in one part of
// four digits behind one without dashes, a partition's has at least three behind
// "mig".
var slotName = regexp.MustCompile(`^(gpu-\d+)(?:-mig-(?:.+)-(\d+)-(\d+)|(-[a-z][a-z0-9]*-[0-9a-f]{4}))?$`)

// place is what a slot's name says: a GPU, and of a partition the profile's id
// and the start.
type place struct {
	gpu string
	// whole: it takes all of the GPU, alone or shared.
	whole, shared  bool
	profile, start int
}

// parseSlot takes a name apart. The profile's name in it is not looked at: it
// moves with the driver's version, the id does not.
func parseSlot(name string) (place, bool) {
	m := slotName.FindStringSubmatch(name)
	if m == nil {
		return place{}, false
	}
	if m[2] == "" {
		return place{gpu: m[1], whole: true, shared: m[4] != ""}, true
	}
	profile, perr := strconv.Atoi(m[2])
	start, serr := strconv.Atoi(m[3])
	return place{gpu: m[1], profile: profile, start: start}, perr == nil && serr == nil
}

// GPUOf returns the name of the GPU that a slot is of, or "".
func GPUOf(slot string) string {
	p, _ := parseSlot(slot)
	return p.gpu
}

// TypeOf returns the type of the device that a slot is published as: the value of
// its attribute "type", or "" for what is no name of a slot.
func TypeOf(slot string) string {
	p, ok := parseSlot(slot)
	switch {
	case !ok:
		return ""
	case p.shared:
		return api.TypeShare
	case p.whole:
		return api.TypeGPU
	}
	return api.TypeMIG
}

// partition returns where on the GPU the place is; false when the GPU has no
// such profile or placement.
func (d Device) partition(p place) (mig.Partition, bool) {
	if d.MIG == nil {
		return mig.Partition{}, false
	}
	profile, ok := d.MIG.Geometry.Profile(p.profile)
	if !ok {
		return mig.Partition{}, false
	}
	for _, at := range profile.Placements {
		if at.Start == p.start {
			return mig.Partition{Profile: profile.ID, Placement: at}, true
		}
	}
	return mig.Partition{}, false
}

// Classify marks the instances that no hold accounts for as somebody else's, and
// those that somebody uses without a claim. Every device must come with all holds
// on it.
func Classify(devices []Device, holds []Hold) {
	for _, d := range devices {
		ours, held := map[mig.Partition]bool{}, map[mig.Partition]bool{}
		for _, t := range d.occupied(holds).parts {
			held[t.Partition] = true
			ours[t.Partition] = ours[t.Partition] || !t.Found
		}
		for i := range d.Instances {
			inst := &d.Instances[i]
			inst.Foreign = !ours[inst.Partition]
			inst.Stray = inst.Processes > 0 && !held[inst.Partition]
		}
	}
}
