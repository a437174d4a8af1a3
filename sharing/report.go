// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// Report is what the node's GPUNode says. stoodDown is why nothing is published,
// or "". The same input gives the same report, so that it is written on change.
func Report(offerings []Offering, holds []Hold, c Cluster, has Means, stoodDown string) v1alpha1.GPUNodeStatus {
	s := v1alpha1.GPUNodeStatus{
		Publication: publication(c.Can, stoodDown), Policies: nodePolicies(offerings, c), Sharing: nodeSharing(c.Can, has)}
	for _, o := range offerings {
		s.DriverVersion = o.DriverVersion
		s.GPUs = append(s.GPUs, o.report(holds))
	}
	slices.SortFunc(s.GPUs, func(a, b v1alpha1.NodeGPU) int { return compareNames(a.Name, b.Name) })
	s.GPUCount = int32(len(s.GPUs))
	return s
}

func publication(can Abilities, stoodDown string) v1alpha1.Publication {
	switch {
	case stoodDown != "":
		return v1alpha1.Publication{Mode: v1alpha1.PublicationNone, Reason: stoodDown}
	case !can.Partitions:
		return v1alpha1.Publication{Mode: v1alpha1.PublicationStatic, Reason: can.Why}
	}
	return v1alpha1.Publication{Mode: v1alpha1.PublicationFull}
}

// nodeSharing says what there is for sharing GPUs between claims; "" is yes.
func nodeSharing(can Abilities, has Means) v1alpha1.NodeSharing {
	s := v1alpha1.NodeSharing{MPS: v1alpha1.NodeMPS{Version: has.MPS.Version}, MemoryLimitsUnavailable: has.NoContainerLimits}
	if !has.MPS.Up {
		s.MPS.Unavailable = has.MPS.Why
	}
	if !can.Shares {
		s.Unavailable = can.WhyNoShares
	}
	return s
}

// nodePolicies are the policies that select the node, by name.
func nodePolicies(offerings []Offering, c Cluster) []v1alpha1.NodePolicy {
	byName := map[string]*v1alpha1.NodePolicy{}
	for i := range c.Policies {
		p := &c.Policies[i]
		if p.DeletionTimestamp != nil {
			continue
		}
		if selected, err := SelectsNode(p, c.NodeLabels); err != nil {
			byName[p.Name] = &v1alpha1.NodePolicy{Name: p.Name, Error: err.Error()}
		} else if selected {
			byName[p.Name] = &v1alpha1.NodePolicy{Name: p.Name}
		}
	}
	for _, o := range offerings {
		if p := byName[o.Owner.Policy]; p != nil {
			p.GPUsOwned++
		}
		for _, name := range o.Owner.Outranked {
			if p := byName[name]; p != nil {
				p.GPUsOutranked++
			}
		}
		for name, why := range o.Owner.Failed {
			if p := byName[name]; p != nil && p.Error == "" {
				p.Error = o.Name + ": " + why
			}
		}
	}
	var out []v1alpha1.NodePolicy
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, *byName[name])
	}
	return out
}

func (o Offering) report(holds []Hold) v1alpha1.NodeGPU {
	g := v1alpha1.NodeGPU{
		Name: o.Name, UUID: o.UUID, PCIBusID: o.Address, Product: o.Product,
		Policy: o.Owner.Policy, Condition: string(o.Condition), Message: cmp.Or(o.Why, o.Stuck), MIGMode: o.migMode(),
	}
	for _, w := range o.Withheld {
		g.Withheld = append(g.Withheld, v1alpha1.WithheldOffer{Offer: w.Offer, Reason: w.Why})
	}
	for _, l := range o.Slots {
		if l.Retiring != 0 {
			g.Retiring = append(g.Retiring, l.Name)
		}
		if l.Shared != nil {
			g.Shares = append(g.Shares, o.reportShared(l))
		}
	}
	slices.Sort(g.Retiring)
	for _, i := range o.foreign() {
		g.Instances = append(g.Instances, v1alpha1.ForeignInstance{
			Profile: o.profileName(i.Profile), Start: int32(i.Start), UUID: i.UUID, InUse: i.Stray})
	}
	slices.SortFunc(g.Instances, func(a, b v1alpha1.ForeignInstance) int { return cmp.Compare(a.Start, b.Start) })
	for _, h := range holds {
		if GPUOf(h.Slot) == o.Name {
			g.Holds = append(g.Holds, v1alpha1.NodeHold{Device: h.Slot, Namespace: h.Namespace, Claim: h.Name, ClaimUID: h.Claim, Admin: h.Admin})
		}
	}
	return g
}

func (o Offering) reportShared(l Listed) v1alpha1.NodeShares {
	s := *l.Shared
	return v1alpha1.NodeShares{
		Device: l.Name, Offer: s.Offer, Mode: s.Mode, Shares: int32(s.Shares),
		MemoryPerShareMiB: s.MemoryMiB, ActiveThreadPercentage: int32(s.ActiveThreads), Interval: string(s.Interval),
		MemoryLimit: string(s.Memory), ComputeLimit: string(s.Compute()), Faults: FaultsShared,
		Broken: o.broken(l), Restarts: int32(o.supervision.Daemons[l.Name].Restarts),
	}
}

func (o Offering) profileName(id int) string {
	if o.MIG != nil {
		if p, ok := o.MIG.Geometry.Profile(id); ok {
			return p.Name
		}
	}
	return "unknown"
}

// migMode says the MIG mode where it is a setting. Where claims decide about it
// it would change with each of them.
func (o Offering) migMode() string {
	if o.MIG == nil || o.Condition == Lost {
		return ""
	}
	if o.MIG.Switchable {
		return "FollowsClaims"
	}
	words := map[bool]string{true: "Enabled", false: "Disabled"}
	if o.On != o.Pending {
		return words[o.On] + ", " + words[o.Pending] + " after a reset"
	}
	return words[o.On]
}
