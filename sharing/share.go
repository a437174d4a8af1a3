// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
)

// takeShare decides about a share of a GPU. Every claim that has one has the same
// steps in its record, and the last one to end undoes them.
func (a *acquisition) takeShare(d Device, ask Ask, granted *SpecDevice) error {
	if ask.Admin {
		return nil
	}
	if ask.Share == "" {
		return api.Errorf(api.Invalid, "request %s was allocated a share of %s without a share id; the feature gate DRAConsumableCapacity must be on in every part of the cluster", ask.Request, ask.Device)
	}
	s, known := a.Slots[ask.Device]
	if !known {
		return a.unknown(ask)
	}
	mine, have := d.occupied(a.rec.Holds).besides(ask.Device)
	if mine != nil {
		return a.twice(d, mig.Placement{}, true, ask)
	}
	others := a.others()
	theirs, taken := d.occupied(others).besides(ask.Device)
	if theirs != nil {
		return a.held(ask.Device, *theirs)
	}
	if have+taken >= s.Shares {
		return api.Errorf(api.Held, "all %d shares of %s are held on this node; the kubelet tries again", s.Shares, ask.Device)
	}
	if err := a.undivided(d); err != nil {
		return err
	}
	where := Setting{Slot: ask.Device, Address: d.Address}
	granted.Slot, granted.Shared, granted.MemoryMiB = ask.Device, &s, d.MemoryBytes/mebi
	if s.Mode == v1alpha1.MPS {
		granted.Daemon = ask.Device
		a.setComputeMode(where, ComputeExclusive)
		a.step(StartMPS{Slot: ask.Device, Daemon: ask.Device, Limits: s.mps(), Devices: []Served{
			{Address: d.Address, UUID: d.UUID, MemoryMiB: d.MemoryBytes / mebi}}})
		return nil
	}
	a.setComputeMode(where, ComputeDefault)
	if s.Interval != "" {
		a.setInterval(where, d.UUID, s.Interval)
	}
	return nil
}

// setComputeMode and setInterval append the steps that change a setting. What it
// was before the first of the sharers came is known to those that are there.
func (a *acquisition) setComputeMode(where Setting, m ComputeMode) {
	a.copyNote(computeModeKey(where.Address))
	a.step(NoteComputeMode{Setting: where})
	a.step(SetComputeMode{Setting: where, Mode: m})
}

func (a *acquisition) setInterval(where Setting, uuid string, i nvidia.Interval) {
	a.copyNote(intervalKey(where.Address))
	a.step(NoteInterval{Setting: where, UUID: uuid})
	a.step(SetInterval{Setting: where, UUID: uuid, Interval: i})
}

func (a *acquisition) copyNote(key string) {
	if fact, ok := a.Known[key]; ok {
		a.rec.Learn(key, fact)
	}
}

// apply has the settings of a configuration applied to a device that the claim has
// alone. Partitions take turns by themselves: the interval is the whole GPU's, and
// would be other tenants' too.
func (a *acquisition) apply(d Device, at place, ask Ask, granted *SpecDevice) error {
	if ask.Admin || ask.Settings == nil || at.shared {
		return nil
	}
	want := ask.Settings
	if want.Strategy == nvidia.StrategyMPS {
		return a.join(d, at, ask, granted)
	}
	if at.whole {
		where := Setting{Address: d.Address}
		a.setComputeMode(where, ComputeDefault)
		a.setInterval(where, d.UUID, want.Interval)
	}
	return nil
}

// join has the device served by the claim's MPS daemon. There is one at most: a
// container can be the client of one.
func (a *acquisition) join(d Device, at place, ask Ask, granted *SpecDevice) error {
	want := ask.Settings
	if a.daemon != nil && a.group != want.Group {
		return api.Errorf(api.Invalid, "claim %s/%s has two MPS configurations (the second for request %s), and a container can use one MPS daemon; put the requests under one configuration, or into two claims", a.claim.Namespace, a.claim.Name, ask.Request)
	}
	if want.MPS.MultiUser && !d.servesUsers() {
		return api.Errorf(api.Invalid, "multiUser needs compute capability 7.0; %s (%s) has %s", d.Name, d.Product, d.ComputeCapability)
	}
	if a.daemon == nil {
		a.group = want.Group
		a.daemon = &StartMPS{Daemon: a.claim.UID, Limits: *want.MPS}
	}
	served := Served{Address: d.Address, UUID: d.UUID, MemoryMiB: d.MemoryBytes / mebi}
	if at.whole {
		a.setComputeMode(Setting{Address: d.Address}, ComputeExclusive)
	} else {
		served.Slot = ask.Device
		if profile, ok := d.MIG.Geometry.Profile(at.profile); ok {
			served.MemoryMiB = profile.MemoryMiB
		}
	}
	a.daemon.Devices = append(a.daemon.Devices, served)
	granted.Daemon = a.daemon.Daemon
	return nil
}

// startDaemon appends the step for the claim's own MPS daemon, if it is to have
// one, once its limits are known to be good.
func (a *acquisition) startDaemon() error {
	if a.daemon == nil {
		return nil
	}
	// Partitions that are yet to be made have no UUID that anybody could name.
	yet := Facts{}
	for _, s := range a.daemon.Devices {
		if s.Slot == "" {
			continue
		}
		yet[s.Slot] = Fact{UUID: s.Slot}
		at, _ := parseSlot(s.Slot)
		if p, ok := a.Devices[at.gpu].partition(at); ok {
			if inst, there := a.Devices[at.gpu].foreignAt(p); there {
				yet[s.Slot] = Fact{UUID: inst.UUID}
			}
		}
	}
	if _, err := a.daemon.Wanted(yet); err != nil {
		return api.Errorf(api.Invalid, "claim %s/%s: MPS: %w", a.claim.Namespace, a.claim.Name, err)
	}
	a.step(*a.daemon)
	return nil
}
