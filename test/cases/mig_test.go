// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// everything offers whole GPUs and all partitions on every node.
func everything() v1alpha1.SharingPolicy {
	return policy("everything", wholeGPU(), onDemand("*"))
}

func policy(name string, offers ...v1alpha1.Offer) v1alpha1.SharingPolicy {
	p := v1alpha1.SharingPolicy{}
	p.Name = name
	p.Spec.Offers = offers
	return p
}

func wholeGPU() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "whole", ClassNames: []string{"gpu.nvidia.com"}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}}
}

func onDemand(profiles ...string) v1alpha1.Offer {
	return v1alpha1.Offer{Name: "slice", ClassNames: []string{"mig.nvidia.com"}, Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGOnDemand, Profiles: profiles}}}
}

func existing() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "there", ClassNames: []string{"mig.nvidia.com"}, Device: v1alpha1.OfferDevice{
		Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGExisting}}}
}

// newMIGNode is a node whose policy offers everything, serving.
func newMIGNode(t *testing.T, products ...string) *node {
	t.Helper()
	n := newNode(t, products)
	n.kinds.set(everything())
	n.start()
	return n
}

// instances are the GPU instances of a GPU as "profile@start", in that order;
// those without a compute instance have a "!".
func (n *node) instances(gpu int) []string {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	out := []string{}
	for _, gi := range s.GPUs[gpu].GIs {
		line := fmt.Sprintf("%d@%d", gi.ProfileID, gi.Start)
		if len(gi.CIs) == 0 {
			line += "!"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// mode is the MIG mode of a GPU.
func (n *node) mode(gpu int) sim.MIGMode {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	return s.GPUs[gpu].MIG
}

// A partition is made for its claim and destroyed after it, and the mode is on
// exactly as long as there is one.
func TestPartitionLivesWithItsClaim(t *testing.T) {
	n := newMIGNode(t, "H100-80")
	n.awaitPublished("gpu-0-mig-3g40gb-9-4")
	a, b := n.claim("a", "gpu-0-mig-3g40gb-9-4"), n.claim("b", "gpu-0-mig-1g10gb-19-0")
	got, err := n.P(a)
	ok(t, err)
	same(t, "devices", ids(got), []string{"k8s.gpu.nvidia.com/claim=" + string(a.UID) + "-gpu-0-mig-3g40gb-9-4"})
	same(t, "instances", n.instances(0), []string{"9@4"})
	_, err = n.P(b)
	ok(t, err)
	same(t, "instances", n.instances(0), []string{"19@0", "9@4"})
	same(t, "mode switches", n.machine.Calls("nvmlDeviceSetMigMode"), 1)
	ok(t, n.U(a))
	same(t, "instances", n.instances(0), []string{"19@0"})
	same(t, "mode", n.mode(0), sim.MIGMode{Current: true, Pending: true})
	ok(t, n.U(b))
	same(t, "instances", n.instances(0), []string{})
	same(t, "mode", n.mode(0), sim.MIGMode{})
	same(t, "CDI files", n.cdiFiles(), []string(nil))
}

// awaitPublished waits until a device is published.
func (n *node) awaitPublished(names ...string) {
	n.t.Helper()
	eventually(n.t, soon, func() string {
		have := n.devices()
		for _, name := range names {
			if _, there := have[name]; !there {
				return fmt.Sprintf("%s is not published; published are %d devices", name, len(have))
			}
		}
		return ""
	})
}
