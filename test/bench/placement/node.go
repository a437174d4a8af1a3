// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

const nodeName = "node-1"

// published is a node as the API server knows it.
type published struct {
	slices []*resourceapi.ResourceSlice
	// slots says which partition a device is. Whole GPUs are not in it.
	slots map[string]slot
}

// ours is the node as sharing publishes it under a policy that offers everything.
func ours(g mig.Geometry) (published, error) {
	cluster := sharing.Cluster{Policies: []v1alpha1.SharingPolicy{*everything(g)}, Can: sharing.Abilities{Partitions: true}}
	var devices []sharing.Device
	for i := range gpus {
		devices = append(devices, sharing.Device{GPU: hopper(g, i), Condition: sharing.Ready})
	}
	offerings := sharing.Offerings(devices, cluster, sharing.Standing{})
	for _, o := range offerings {
		if len(o.Withheld) > 0 {
			return published{}, fmt.Errorf("%s does not publish offer %s: %s", o.Name, o.Withheld[0].Offer, o.Withheld[0].Why)
		}
	}
	return publish(g, sharing.Publish(offerings, cluster.Can))
}

// upstream is the same node as the upstream driver publishes it: the devices of a
// GPU in the order of their names, and without the attributes that are our own.
func upstream(g mig.Geometry) (published, error) {
	p, err := ours(g)
	if err != nil {
		return published{}, err
	}
	for _, s := range p.slices {
		slices.SortFunc(s.Spec.Devices, func(a, b resourceapi.Device) int { return cmp.Compare(a.Name, b.Name) })
		for _, d := range s.Spec.Devices {
			delete(d.Attributes, api.AttributePolicy)
			delete(d.Attributes, "pcieBusID")
		}
	}
	return p, nil
}

// publish makes ResourceSlices of their content, named so that their order stays.
func publish(g mig.Geometry, content []sharing.Slice) (published, error) {
	p := published{slots: map[string]slot{}}
	for i, c := range content {
		p.slices = append(p.slices, &resourceapi.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%03d-%s-%s", i, api.DriverName, nodeName)},
			Spec: resourceapi.ResourceSliceSpec{
				Driver: api.DriverName, NodeName: new(nodeName),
				Pool:           resourceapi.ResourcePool{Name: nodeName, Generation: 1, ResourceSliceCount: int64(len(content))},
				SharedCounters: c.Counters, Devices: c.Devices,
			},
		})
	}
	for gpu := range gpus {
		for _, part := range g.Partitions() {
			profile, _ := g.Profile(part.Profile)
			p.slots[sharing.PartitionName(gpuName(gpu), profile, part.Start)] = slot{gpu, part}
		}
	}
	return p, p.check()
}

// check holds that everything is published once: nothing here may be about a
// part of a node.
func (p published) check() error {
	seen := map[string]int{}
	for _, s := range p.slices {
		for _, d := range s.Spec.Devices {
			seen[d.Name]++
		}
	}
	for name := range p.slots {
		if seen[name] != 1 {
			return fmt.Errorf("%s is published %d times", name, seen[name])
		}
	}
	if want := len(p.slots) + gpus; len(seen) != want {
		return fmt.Errorf("%d devices are published, not %d", len(seen), want)
	}
	return nil
}
