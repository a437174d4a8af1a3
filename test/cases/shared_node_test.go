// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/test/scheduler"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/programs"
)

// standIns builds nvidia-smi of the simulated driver once; built is where it is.
var (
	standIns = sync.OnceValue(func() error {
		dir, err := os.MkdirTemp("", "stand-ins")
		if err != nil {
			return err
		}
		built = dir
		return programs.Build(dir, programs.SMI)
	})
	built string
)

// newSharedNode is a node whose driver has nvidia-smi and whose policy has these
// offers, serving.
func newSharedNode(t *testing.T, products []string, offers ...v1alpha1.Offer) *node {
	t.Helper()
	ok(t, standIns())
	n := newNodeWith(t, built, products)
	n.kinds.set(policy("shared", offers...))
	n.start()
	return n
}

// quarterByMPS and eighthInTurns are offers of shares.
func quarterByMPS() v1alpha1.Offer {
	return v1alpha1.Offer{Name: "quarter", ClassNames: []string{"serve"}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU},
		Sharing: &v1alpha1.OfferSharing{Mode: v1alpha1.MPS, Shares: 4}}
}

func eighthInTurns(interval string) v1alpha1.Offer {
	o := v1alpha1.Offer{Name: "eighth", ClassNames: []string{"burst"}, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU},
		Sharing: &v1alpha1.OfferSharing{Mode: v1alpha1.TimeSlicing, Shares: 8}}
	if interval != "" {
		o.Sharing.TimeSlicing = &v1alpha1.TimeSlicingSettings{Interval: interval}
	}
	return o
}

// of asks for one device of a shared offer.
func of(request, offer string) resourceapi.DeviceRequest {
	return scheduler.Request(request, "share", 1, fmt.Sprintf(`device.attributes['cotenant.dev'].offer == '%s'`, offer))
}

// deviceOf is the device of a claim's first result.
func deviceOf(c *resourceapi.ResourceClaim) string {
	return c.Status.Allocation.Devices.Results[0].Device
}

// gpuState is one GPU of the machine.
func (n *node) gpuState(i int) sim.GPU {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	return s.GPUs[i]
}

// turns is the time-slice interval of a GPU, and compute its compute mode.
func (n *node) turns(i int) int   { return n.gpuState(i).TimeSlice }
func (n *node) compute(i int) int { return n.gpuState(i).ComputeMode }

// awaitShares waits until every GPU's offer is published.
func (n *node) awaitShares(offers ...string) {
	n.t.Helper()
	eventually(n.t, 10*time.Second, func() string {
		for _, o := range offers {
			found := 0
			for _, d := range n.devices() {
				if v := d.Attributes["cotenant.dev/offer"].StringValue; v != nil && *v == o {
					found++
				}
			}
			if want := len(n.state().GPUs); found != want {
				return fmt.Sprintf("%s is published of %d GPUs, not %d", o, found, want)
			}
		}
		return ""
	})
}

func (n *node) state() sim.State {
	n.t.Helper()
	s, err := n.machine.State()
	ok(n.t, err)
	return s
}

// preset changes a GPU as an admin would by hand.
func (n *node) preset(i int, change func(*sim.GPU)) {
	n.t.Helper()
	same(n.t, "an admin's change", n.machine.Change(sim.Call{Name: "by hand"}, func(s *sim.State) sim.Code {
		change(&s.GPUs[i])
		return sim.Success
	}), sim.Success)
}

// await waits until the condition returns "".
func (n *node) await(condition func() string) {
	n.t.Helper()
	eventually(n.t, 15*time.Second, condition)
}

// shareClaim creates a claim that was allocated a share, whether there is one or not.
func (n *node) shareClaim(name, device string) *resourceapi.ResourceClaim {
	n.t.Helper()
	return n.allocate(name, []resourceapi.DeviceRequestAllocationResult{{
		Request: "r", Driver: "gpu.nvidia.com", Pool: n.name, Device: device, ShareID: new(types.UID("share-of-" + name))}}, nil)
}
