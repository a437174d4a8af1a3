// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim/products"
)

const nodeName = "n1"

// node is a node without a kernel: its GPUs as a look would find them, its
// journal, the claims that the scheduler allocated on it, and a clock.
type node struct {
	gpus    []sharing.Present
	known   map[string]sharing.Known
	listed  map[string][]sharing.Listed
	records map[string]sharing.Record
	claims  map[string]*resourceapi.ResourceClaim
	cluster sharing.Cluster
	has     sharing.Means
	now     int64
	boot    int
}

func newNode(t testing.TB, products ...string) *node {
	n := &node{
		known: map[string]sharing.Known{}, listed: map[string][]sharing.Listed{}, records: map[string]sharing.Record{},
		claims: map[string]*resourceapi.ResourceClaim{}, now: 1_000_000,
		cluster: sharing.Cluster{Can: sharing.Abilities{Partitions: true, Shares: true}},
		has:     sharing.Means{MPS: sharing.Supervision{Up: true, MultiUser: true}},
	}
	for i, name := range products {
		n.gpus = append(n.gpus, gpu(t, i, name))
	}
	return n
}

// gpu is a GPU of a product of the simulated machine, with the facts that the
// plugin would learn of it.
func gpu(t testing.TB, index int, name string) sharing.Present {
	p, err := products.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	g := sharing.Present{GPU: sharing.GPU{
		Address: fmt.Sprintf("0000:%02d:00.0", index), UUID: fmt.Sprintf("GPU-%d", index), Minor: index,
		Product: p.Name, Architecture: p.Architecture, MemoryBytes: p.MemoryMiB << 20, ComputeCapability: "8.0.0", CUDAVersion: "13.0.0",
	}}
	if geometry := p.Geometry(); len(geometry) > 0 {
		g.MIG = &sharing.MIG{Switchable: !p.MIGNeedsReset, Geometry: geometry}
	}
	return g
}

func (n *node) holds() []sharing.Hold {
	var out []sharing.Hold
	for _, uid := range slices.Sorted(maps.Keys(n.records)) {
		out = append(out, n.records[uid].Holds...)
	}
	return out
}

// look is one round of the plugin: it looks, and publishes.
func (n *node) look() []*resourceapi.ResourceSlice {
	look := sharing.Look{Boot: fmt.Sprint(n.boot), GPUs: slices.Clone(n.gpus)}
	devices, news := sharing.Roster(look, n.known, nil, "")
	for _, k := range news {
		n.known[k.Address] = k
	}
	sharing.Classify(devices, n.holds())
	offerings := sharing.Offerings(devices, n.cluster, sharing.Standing{Listed: n.listed, Has: n.has, Now: n.now})
	maps.Copy(n.listed, sharing.News(n.listed, offerings))
	return resourceSlices(sharing.Publish(offerings, n.cluster.Can))
}

// resourceSlices are the objects that content becomes.
func resourceSlices(content []sharing.Slice) []*resourceapi.ResourceSlice {
	var out []*resourceapi.ResourceSlice
	for i, c := range content {
		s := &resourceapi.ResourceSlice{Spec: resourceapi.ResourceSliceSpec{
			Driver: "gpu.nvidia.com", NodeName: new(nodeName),
			Pool:    resourceapi.ResourcePool{Name: nodeName, Generation: 1, ResourceSliceCount: int64(len(content))},
			Devices: c.Devices, SharedCounters: c.Counters,
		}}
		s.Name = fmt.Sprintf("%05x", i)
		out = append(out, s)
	}
	return out
}

// withdraw is the end of the retiring protocol.
func (n *node) withdraw() {
	had := map[string]bool{}
	for _, c := range n.claims {
		for _, r := range c.Status.Allocation.Devices.Results {
			had[r.Device] = true
		}
	}
	for _, h := range n.holds() {
		had[h.Slot] = true
	}
	for address, listed := range n.listed {
		due := sharing.Due(listed, n.now, sharing.Patience{Wait: 120, Again: 600})
		n.listed[address] = sharing.Withdraw(listed, due, had, n.now)
	}
}

// devices are the GPUs as the pipeline sees them.
func (n *node) devices() map[string]sharing.Device {
	devices, _ := sharing.Roster(sharing.Look{Boot: fmt.Sprint(n.boot), GPUs: slices.Clone(n.gpus)}, n.known, nil, "")
	sharing.Classify(devices, n.holds())
	out := map[string]sharing.Device{}
	for _, d := range devices {
		out[d.Name] = d
	}
	return out
}

// prepare does what the plugin would do for a claim, and changes the GPUs as its
// steps would.
func (n *node) prepare(c *resourceapi.ResourceClaim) error {
	claim := sharing.Claim{UID: string(c.UID), Namespace: c.Namespace, Name: c.Name}
	for _, r := range c.Status.Allocation.Devices.Results {
		ask := sharing.Ask{Request: r.Request, Device: r.Device}
		if r.ShareID != nil {
			ask.Share = string(*r.ShareID)
		}
		claim.Asks = append(claim.Asks, ask)
	}
	rec, err := sharing.Acquire(sharing.Node{Pool: nodeName, Devices: n.devices(), Holds: n.holds(), Slots: sharing.SharedSlots(n.listed)}, claim)
	if err != nil {
		return err
	}
	for _, s := range rec.Steps {
		n.do(s)
	}
	n.records[rec.UID] = rec
	return nil
}

func (n *node) do(s sharing.Step) {
	switch s := s.(type) {
	case sharing.SwitchMIG:
		n.at(s.Address).MIGMode = sharing.MIGMode{On: s.On, Pending: s.On}
	case sharing.CreateGPUInstance:
		g := n.at(s.Address)
		g.Instances = append(g.Instances, sharing.Instance{GI: s.Start, Partition: s.Partition, UUID: "MIG-" + s.Slot})
	}
}

// release is the end of a claim on the node.
func (n *node) release(uid string) {
	rec := n.records[uid]
	for _, s := range slices.Backward(rec.Steps) {
		switch s := s.(type) {
		case sharing.CreateGPUInstance:
			g := n.at(s.Address)
			g.Instances = slices.DeleteFunc(slices.Clone(g.Instances), func(i sharing.Instance) bool { return i.Partition == s.Partition })
		case sharing.SwitchMIG:
			if g := n.at(s.Address); s.On && len(g.Instances) == 0 {
				g.MIGMode = sharing.MIGMode{}
			}
		}
	}
	delete(n.records, uid)
}

func (n *node) at(address string) *sharing.Present {
	for i := range n.gpus {
		if n.gpus[i].Address == address {
			return &n.gpus[i]
		}
	}
	return nil
}

// foreign has somebody make an instance with nvidia-smi, where it fits.
func (n *node) foreign(g *sharing.Present, p mig.Partition) {
	if g.MIG == nil || (!g.On && !g.MIG.Switchable) {
		return
	}
	for _, h := range n.holds() {
		if sharing.GPUOf(h.Slot) == fmt.Sprintf("gpu-%d", g.Minor) && sharing.TypeOf(h.Slot) != "mig" {
			return // the mode cannot change under a container
		}
	}
	var live []mig.Partition
	for _, i := range g.Instances {
		live = append(live, i.Partition)
	}
	if g.MIG.Geometry.Fits(live, p) == nil {
		g.MIGMode = sharing.MIGMode{On: true, Pending: true}
		g.Instances = append(slices.Clone(g.Instances), sharing.Instance{GI: p.Start, Partition: p, UUID: fmt.Sprintf("MIG-F%d-%d", g.Minor, p.Start)})
	}
}

// silicon is what of a GPU a device name stands for: its memory slices.
type silicon struct {
	gpu   string
	slice int
}

// of returns the memory slices behind a device name, by the geometry of the GPU
// and not by what is published.
func (n *node) of(t testing.TB, device string) []silicon {
	for i := range n.gpus {
		g := &n.gpus[i]
		name := fmt.Sprintf("gpu-%d", g.Minor)
		units := 1
		if g.MIG != nil {
			units = g.MIG.Geometry.Units()
		}
		if device == name || sharing.GPUOf(device) == name && sharing.TypeOf(device) == "gpu-share" {
			return run(name, 0, units)
		}
		if g.MIG == nil {
			continue
		}
		for _, p := range g.MIG.Geometry.Partitions() {
			profile, _ := g.MIG.Geometry.Profile(p.Profile)
			if sharing.PartitionName(name, profile, p.Start) == device {
				return run(name, p.Start, p.Size)
			}
		}
	}
	t.Fatalf("no GPU of the node is behind %s", device)
	return nil
}

func run(gpu string, start, size int) []silicon {
	var out []silicon
	for i := range size {
		out = append(out, silicon{gpu, start + i})
	}
	return out
}

// shared is an offer of as many shares, by MPS or in turns.
func shared(name string, mode v1alpha1.SharingMode, shares int32) v1alpha1.Offer {
	return v1alpha1.Offer{Name: name, Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}, Sharing: &v1alpha1.OfferSharing{Mode: mode, Shares: shares}}
}

func offers(whole, existing bool, profiles ...string) []v1alpha1.Offer {
	var out []v1alpha1.Offer
	if whole {
		out = append(out, v1alpha1.Offer{Name: "whole", Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceGPU}})
	}
	if existing {
		out = append(out, v1alpha1.Offer{Name: "there", Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGExisting}}})
	}
	if len(profiles) > 0 {
		out = append(out, v1alpha1.Offer{Name: "slice", Device: v1alpha1.OfferDevice{Type: v1alpha1.DeviceMIG, MIG: &v1alpha1.OfferMIG{Source: v1alpha1.MIGOnDemand, Profiles: profiles}}})
	}
	return out
}
