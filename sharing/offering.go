// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"slices"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Cluster is what a node knows of its cluster.
type Cluster struct {
	Policies   []v1alpha1.SharingPolicy
	NodeLabels map[string]string
	Can        Abilities
	Match      Match
}

// Offering is a GPU with what is published of it, and why.
type Offering struct {
	Device
	Owner    Ownership
	Slots    []Listed
	Withheld []Withheld
	// counted: its devices share hardware, and counters say so.
	counted bool
}

// Offerings returns what is published of every GPU from now on. listed is what
// is published so far, by PCI address; now is in seconds since 1970.
func Offerings(devices []Device, c Cluster, listed map[string][]Listed, now int64) []Offering {
	out := make([]Offering, 0, len(devices))
	for _, d := range devices {
		o := Offering{Device: d, Owner: Own(c.Policies, c.NodeLabels, d.GPU, c.Match)}
		var slots []Slot
		if slots, o.Withheld = Offered(d, o.Owner.Offers, c.Can); d.Condition == Lost {
			// What it is now cannot be seen. What was published of it stays.
			if present := current(listed[d.Address]); len(present) > 0 {
				slots = present
			}
		}
		o.Slots = Turnover(listed[d.Address], slots, c.Can, now)
		out = append(out, o)
	}
	return out
}

// current are the slots that do not retire.
func current(listed []Listed) []Slot {
	var out []Slot
	for _, l := range listed {
		if l.Retiring == 0 {
			out = append(out, l.Slot)
		}
	}
	return out
}

// News returns the listed slots of the GPUs for which they are others than
// before, by PCI address.
func News(before map[string][]Listed, now []Offering) map[string][]Listed {
	news := map[string][]Listed{}
	for _, o := range now {
		if !slices.EqualFunc(before[o.Address], o.Slots, func(a, b Listed) bool {
			return a.Name == b.Name && a.Retiring == b.Retiring && a.Asked == b.Asked && a.sameAs(b.Slot)
		}) {
			news[o.Address] = o.Slots
		}
	}
	return news
}
