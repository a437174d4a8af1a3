// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"cmp"
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

// Standing is how a node stands when it is decided what to publish.
type Standing struct {
	// Listed is what is published so far, by PCI address.
	Listed map[string][]Listed
	Has    Means
	// Now is in seconds since 1970.
	Now int64
}

// Offering is a GPU with what is published of it, and why.
type Offering struct {
	Device
	Owner    Ownership
	Slots    []Listed
	Withheld []Withheld
	// supervision is how the MPS control daemons of the node are.
	supervision Supervision
	// counted: its devices share hardware, and counters say so.
	counted bool
}

// broken says why a slot's MPS control daemon does not serve, or "". One that
// nobody has needs none.
func (o Offering) broken(l Listed) string {
	if l.Shared == nil || l.Shared.Mode != v1alpha1.MPS {
		return ""
	}
	if !o.supervision.Up {
		return cmp.Or(o.supervision.Why, "no MPS control daemon can be run")
	}
	if d := o.supervision.Daemons[l.Name]; d.BrokenSince != 0 {
		return cmp.Or(d.Why, "its MPS control daemon does not serve")
	}
	return ""
}

// Offerings returns what is published of every GPU from now on.
func Offerings(devices []Device, c Cluster, s Standing) []Offering {
	out := make([]Offering, 0, len(devices))
	for _, d := range devices {
		o := Offering{Device: d, Owner: Own(c.Policies, c.NodeLabels, d.GPU, c.Match), supervision: s.Has.MPS}
		present := current(s.Listed[d.Address])
		slots, asleep, withheld := Offered(d, o.Owner.Offers, c.Can, s.Has)
		for _, sleeping := range asleep {
			if slices.ContainsFunc(present, func(p Slot) bool { return p.Name == sleeping.Name && p.sameAs(sleeping) }) {
				slots = append(slots, sleeping)
			}
		}
		if d.Condition == Lost && len(present) > 0 {
			// What it is now cannot be seen. What was published of it stays.
			slots = present
		}
		o.Withheld = withheld
		o.Slots = Turnover(s.Listed[d.Address], slots, c.Can, s.Now)
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

// SharedSlots are the settings of the shared slots among those that are listed, by
// name.
func SharedSlots(listed map[string][]Listed) map[string]Shared {
	out := map[string]Shared{}
	for _, of := range listed {
		for _, l := range of {
			if l.Shared != nil {
				out[l.Name] = *l.Shared
			}
		}
	}
	return out
}
