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
			if last != nil && !last.Partitions {
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

// probe writes what a partition needs without storing it, and looks what would
// have been stored. What cannot be found out counts as missing.
func (p *prober) probe(ctx context.Context, serving string) (sharing.Abilities, error) {
	v, err := version.ParseGeneric(serving)
	if err != nil {
		return sharing.Abilities{Why: fmt.Sprintf("the version of Kubernetes, %q, cannot be read", serving)}, nil
	}
	if v.LessThan(version.MustParseGeneric(partitionsFloor)) {
		return sharing.Abilities{Why: fmt.Sprintf("Kubernetes is %s, and its scheduler keeps partitions of a GPU apart from %s on", serving, partitionsFloor)}, nil
	}
	for _, want := range p.samples() {
		got, err := p.client.ResourceV1().ResourceSlices().Create(ctx, want, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
			return sharing.Abilities{Why: fmt.Sprintf("the API server refuses devices with counters: %v", err)}, nil
		case err != nil:
			return sharing.Abilities{}, err
		case !kept(got):
			return sharing.Abilities{Why: "the API server drops counters: enable the feature gate DRAPartitionableDevices"}, nil
		}
	}
	return sharing.Abilities{Partitions: true}, nil
}

// samples are a slice with a counter set and one with a device that uses it.
func (p *prober) samples() []*resourceapi.ResourceSlice {
	counters := map[string]resourceapi.Counter{"probe": {Value: resource.MustParse("1")}}
	sample := func() *resourceapi.ResourceSlice {
		return &resourceapi.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "cotenant-probe-"},
			Spec: resourceapi.ResourceSliceSpec{
				Driver: api.DriverName, NodeName: &p.node,
				Pool: resourceapi.ResourcePool{Name: p.node, Generation: 1, ResourceSliceCount: 2},
			},
		}
	}
	sets, devices := sample(), sample()
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
