// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/sharing"
)

// inMemory are records in memory.
type inMemory map[string]sharing.Record

func (k inMemory) Claim(uid string) (sharing.Record, bool, error) { r, ok := k[uid]; return r, ok, nil }
func (k inMemory) Holds(...string) ([]sharing.Hold, error)        { return nil, nil }
func (k inMemory) Put(r sharing.Record) error                     { k[r.UID] = r; return nil }
func (k inMemory) Forget(r sharing.Record, _ ...sharing.Fence) error {
	delete(k, r.UID)
	return nil
}

// written are the specs that were made; those of bad claims cannot be.
type written struct {
	bad map[string]bool
	ok  map[string]bool
}

func (w written) List() ([]string, error) { return nil, nil }
func (w written) Write(_ context.Context, s sharing.WriteSpec, _ sharing.Facts) error {
	if w.bad[s.Claim] {
		return errors.New("its MPS daemon does not start")
	}
	w.ok[s.Claim] = true
	return nil
}
func (w written) Trace(string) (sharing.Trace, error) { return sharing.Trace{}, nil }
func (w written) Remove(string) error                 { return nil }

// After a reload every spec names files of a driver that is gone. Claims that cannot
// be repaired do not keep the others from theirs.
func TestRefreshReachesEveryClaim(t *testing.T) {
	records, specs := inMemory{}, written{bad: map[string]bool{}, ok: map[string]bool{}}
	var recs []sharing.Record
	for i := range 12 {
		uid := fmt.Sprintf("c%02d", i)
		specs.bad[uid] = i < 4
		r := sharing.Record{UID: uid, State: sharing.Prepared, Steps: []sharing.Step{sharing.WriteSpec{Claim: uid}}, Grant: &sharing.Grant{}}
		records[uid], recs = r, append(recs, r)
	}
	p := &pipeline{records: records, run: runner{specs: specs}, devices: func() map[string]sharing.Device { return nil }}
	r := &recovery{pipe: p, fl: &flights{}}
	if err := r.redo(t.Context(), recs); err == nil {
		t.Error("nobody says that four claims were not repaired")
	}
	if len(specs.ok) != 8 {
		t.Errorf("%d of 8 claims got their specs", len(specs.ok))
	}
}

// none is a driver whose GPUs have no interval; it is not asked about a GPU whose MIG
// mode is on.
type none struct{ asked map[string]bool }

func (n none) Supports(_ context.Context, uuid string) error {
	n.asked[uuid] = true
	return api.Errorf(api.Unsupported, "not supported by this GPU or its driver")
}
func (n none) Interval(context.Context, string) (nvidia.Interval, error)  { return "", nil }
func (n none) SetInterval(context.Context, string, nvidia.Interval) error { return nil }

// What is known of a GPU stays known while it is partitioned: an offer does not come
// and go with every partition.
func TestNoIntervalOutlivesMIGMode(t *testing.T) {
	m := means{cgroup: Paths{SysRoot: t.TempDir()}.ContainersCgroup, intervals: none{asked: map[string]bool{}}}
	offer := v1alpha1.Offer{Sharing: &v1alpha1.OfferSharing{Mode: v1alpha1.TimeSlicing, TimeSlicing: &v1alpha1.TimeSlicingSettings{Interval: "Short"}}}
	policies := []v1alpha1.SharingPolicy{{Spec: v1alpha1.SharingPolicySpec{Offers: []v1alpha1.Offer{offer}}}}
	d := sharing.Device{Condition: sharing.Ready, GPU: sharing.GPU{Address: "0000:00:00.0", UUID: "GPU-0"}}
	off := m.gather(t.Context(), []sharing.Device{d}, policies, sharing.Supervision{})
	d.On = true
	on := m.gather(t.Context(), []sharing.Device{d}, policies, sharing.Supervision{})
	if off.NoInterval[d.Address] == "" || on.NoInterval[d.Address] != off.NoInterval[d.Address] {
		t.Errorf("why it has no interval: %q, and with MIG mode on %q", off.NoInterval[d.Address], on.NoInterval[d.Address])
	}
}
