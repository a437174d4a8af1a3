// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

const (
	// partitionsFloor is the first release whose allocator keeps partitions of a
	// held GPU back also when another driver uses the same pool name.
	partitionsFloor = "1.36.4"
	// probeEvery is how often the cluster's abilities are looked at again: the
	// version is asked, and when it is another one, fields were dropped, or
	// partitions were not possible so far, the probe is repeated.
	probeEvery = 5 * time.Minute
)

// prober finds out what the API server keeps of what is published. A feature
// that is off there drops counters in silence, and overlapping partitions would
// look independent of each other.
type prober struct {
	client kubernetes.Interface
	node   string
	// now asks for a probe at once.
	now chan struct{}
}

// again has the abilities looked at now.
func (p *prober) again() {
	select {
	case p.now <- struct{}{}:
	default: // one is asked for already
	}
}

// watch calls changed with the abilities, at first and when they change, until
// the context ends.
func (p *prober) watch(ctx context.Context, changed func(sharing.Abilities)) {
	log := klog.FromContext(ctx)
	var last *sharing.Abilities
	asked, failing := "", ""
	for {
		wait := probeEvery
		serving, err := p.serving()
		if err == nil && serving != asked {
			var can sharing.Abilities
			if can, err = p.probe(ctx, serving); err == nil {
				asked = serving
				if last == nil || *last != can {
					last = &can
					changed(can)
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			wait = retryEvery
			if err.Error() != failing {
				log.Info("Cannot find out what the API server keeps of devices; trying again", "reason", err.Error())
			}
			failing = err.Error()
		}
		select {
		case <-ctx.Done():
			return
		case <-p.now:
			asked = ""
		case <-time.After(wait):
			if last != nil && !last.Shares {
				asked = "" // a gate may have been switched on under the same version
			}
		}
	}
}

// serving is the API server's version.
func (p *prober) serving() (string, error) {
	v, err := p.client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return v.GitVersion, nil
}

// probe writes what a partition and what a share needs without storing it, and
// looks what would have been stored. What cannot be found out counts as missing.
func (p *prober) probe(ctx context.Context, serving string) (sharing.Abilities, error) {
	v, err := version.ParseGeneric(serving)
	if err != nil {
		return nothing(fmt.Sprintf("the version of Kubernetes, %q, cannot be read", serving)), nil
	}
	if v.LessThan(version.MustParseGeneric(partitionsFloor)) {
		return nothing(fmt.Sprintf("Kubernetes is %s, and its scheduler keeps partitions of a GPU apart from %s on", serving, partitionsFloor)), nil
	}
	why, err := p.counters(ctx)
	if err != nil || why != "" {
		return nothing(why), err
	}
	can := sharing.Abilities{Partitions: true}
	can.WhyNoShares, err = p.shares(ctx)
	can.Shares = can.WhyNoShares == ""
	return can, err
}

// nothing is what can be published where devices cannot share hardware.
func nothing(why string) sharing.Abilities { return sharing.Abilities{Why: why, WhyNoShares: why} }

// counters says why devices that share hardware cannot be published, or "".
func (p *prober) counters(ctx context.Context) (string, error) {
	for _, want := range p.samples() {
		got, why, err := p.dryRun(ctx, want)
		switch {
		case err != nil:
			return "", err
		case why != "":
			return "the API server refuses devices with counters: " + why, nil
		case !kept(got):
			return "the API server drops counters: enable the feature gate DRAPartitionableDevices", nil
		}
	}
	return "", nil
}

// shares says why devices that several claims have at a time cannot be published,
// or "".
func (p *prober) shares(ctx context.Context) (string, error) {
	one := resource.MustParse("1")
	want := p.sample()
	want.Spec.Devices = []resourceapi.Device{{Name: "probe", AllowMultipleAllocations: new(true), Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
		"shares": {Value: resource.MustParse("2"), RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: &one, ValidValues: []resource.Quantity{one}}},
	}}}
	got, why, err := p.dryRun(ctx, want)
	switch {
	case err != nil:
		return "", err
	case why != "":
		return "the API server refuses devices that several claims have: " + why, nil
	case len(got.Spec.Devices) != 1 || got.Spec.Devices[0].AllowMultipleAllocations == nil || got.Spec.Devices[0].Capacity["shares"].RequestPolicy == nil:
		return "the API server drops what shares need: enable the feature gate DRAConsumableCapacity", nil
	}
	return "", nil
}

// dryRun returns what would have been stored, or why it is refused.
func (p *prober) dryRun(ctx context.Context, want *resourceapi.ResourceSlice) (*resourceapi.ResourceSlice, string, error) {
	got, err := p.client.ResourceV1().ResourceSlices().Create(ctx, want, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) {
		return nil, err.Error(), nil
	}
	return got, "", err
}

// sample is a slice of ours that is empty.
func (p *prober) sample() *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "cotenant-probe-"},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: api.DriverName, NodeName: &p.node,
			Pool: resourceapi.ResourcePool{Name: p.node, Generation: 1, ResourceSliceCount: 2},
		},
	}
}

// samples are a slice with a counter set and one with a device that uses it.
func (p *prober) samples() []*resourceapi.ResourceSlice {
	counters := map[string]resourceapi.Counter{"probe": {Value: resource.MustParse("1")}}
	sets, devices := p.sample(), p.sample()
	sets.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "probe", Counters: counters}}
	devices.Spec.Devices = []resourceapi.Device{{Name: "probe", ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: "probe", Counters: counters}}}}
	return []*resourceapi.ResourceSlice{sets, devices}
}

func kept(s *resourceapi.ResourceSlice) bool {
	if len(s.Spec.Devices) == 0 {
		return len(s.Spec.SharedCounters) == 1
	}
	return len(s.Spec.Devices[0].ConsumesCounters) == 1
}
