// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"strconv"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/mig"
)

// facts are the attributes of a device; what is not known is left out.
type facts map[resourceapi.QualifiedName]resourceapi.DeviceAttribute

func (f facts) text(name resourceapi.QualifiedName, v string) {
	if v != "" {
		f[name] = resourceapi.DeviceAttribute{StringValue: &v}
	}
}

func (f facts) version(name resourceapi.QualifiedName, v string) {
	if v != "" {
		f[name] = resourceapi.DeviceAttribute{VersionValue: &v}
	}
}

// common are the facts that a GPU and its partitions share.
func (g GPU) common() facts {
	f := facts{}
	f.text("productName", g.Product)
	f.text("brand", g.Brand)
	f.text("architecture", g.Architecture)
	f.version("cudaComputeCapability", g.ComputeCapability)
	f.version("driverVersion", g.DriverVersion)
	f.version("cudaDriverVersion", g.CUDAVersion)
	f.text("resource.kubernetes.io/pciBusID", g.Address)
	f.text("resource.kubernetes.io/pcieRoot", g.PCIeRoot)
	f.text("addressingMode", g.AddressingMode)
	if g.NUMANode != nil {
		node := int64(*g.NUMANode)
		f["resource.kubernetes.io/numaNode"] = resourceapi.DeviceAttribute{IntValue: &node}
	}
	return f
}

// Whole is the device of the whole GPU, as selectors see it: what a policy's
// gpuSelector is about. It has no owner yet.
func (g GPU) Whole() resourceapi.Device {
	f := g.common()
	f.text("type", api.TypeGPU)
	f.text("uuid", g.UUID)
	// The name that earlier releases of the upstream driver used.
	f.text("pcieBusID", g.Address)
	dev := resourceapi.Device{Name: g.Name, Attributes: f}
	if g.MemoryBytes > 0 {
		dev.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: *resource.NewQuantity(g.MemoryBytes, resource.BinarySI)},
		}
	} else {
		// Unknown is not zero: a selector on memory must not match.
		f.text("memoryType", "unified")
	}
	return dev
}

// wholeDevice is Whole as published. Where claims decide whether the GPU is
// partitioned it tells its engines, as the upstream driver does. Its memory is
// always all of it, never that of the largest partition.
func (o Offering) wholeDevice(total mig.Amounts) resourceapi.Device {
	dev := o.Whole()
	facts(dev.Attributes).text(api.AttributePolicy, o.Owner.Policy)
	if o.MIG == nil || !o.MIG.Switchable {
		return dev
	}
	for name, c := range engines(total) {
		if name == "memory" {
			continue
		}
		if dev.Capacity == nil {
			dev.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
		}
		dev.Capacity[name] = c
	}
	return dev
}

// partDevice is the device of a partition.
func (o Offering) partDevice(l Listed, amounts mig.Amounts) resourceapi.Device {
	f := o.common()
	f.text("type", api.TypeMIG)
	f.text("uuid", l.Part.UUID)
	f.text("parentUUID", o.UUID)
	f.text("profile", l.Part.Profile.Name)
	f.text(api.AttributePolicy, o.Owner.Policy)
	dev := resourceapi.Device{Name: l.Name, Attributes: f, Capacity: engines(amounts)}
	if l.Part.UUID != "" {
		// The upstream driver tells of instances that are there, and of no others,
		// which memory slices they have.
		for i := l.Part.Start; i < l.Part.Start+l.Part.Size; i++ {
			name := resourceapi.QualifiedName("memorySlice" + strconv.Itoa(i))
			dev.Capacity[name] = resourceapi.DeviceCapacity{Value: *resource.NewQuantity(1, resource.DecimalSI)}
		}
	}
	return dev
}

// sharedDevice is the device of a GPU that several claims have at a time. Every
// claim gets the same: nobody can ask for a larger share, and a quota in devices is
// one in shares.
func (o Offering) sharedDevice(l Listed) resourceapi.Device {
	s := *l.Shared
	f := o.common()
	f.text("type", api.TypeShare)
	f.text("uuid", o.UUID)
	f.text(api.AttributePolicy, o.Owner.Policy)
	f.text(api.AttributeOffer, s.Offer)
	f.text(api.AttributeMode, string(s.Mode))
	f.text(api.AttributeMemoryLimit, string(s.Memory))
	f.text(api.AttributeComputeLimit, string(s.Compute()))
	f.text(api.AttributeFaults, FaultsShared)
	dev := resourceapi.Device{
		Name: l.Name, Attributes: f, AllowMultipleAllocations: new(true),
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"shares": portion(resource.DecimalSI, int64(s.Shares), 1),
		},
	}
	if s.MemoryMiB > 0 {
		dev.Capacity["memory"] = portion(resource.BinarySI, o.MemoryBytes/mebi*mebi, s.MemoryMiB*mebi)
	} else {
		f.text("memoryType", "unified")
	}
	if s.ActiveThreads > 0 {
		// The percentages may add up to more than the GPU has; the shares do not.
		dev.Capacity["activeThreads"] = portion(resource.DecimalSI, int64(s.Shares*s.ActiveThreads), int64(s.ActiveThreads))
	}
	return dev
}

// portion is a capacity of which every claim consumes the same.
func portion(format resource.Format, total, each int64) resourceapi.DeviceCapacity {
	one := *resource.NewQuantity(each, format)
	return resourceapi.DeviceCapacity{
		Value:         *resource.NewQuantity(total, format),
		RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: &one, ValidValues: []resource.Quantity{one}},
	}
}

// engines are amounts as capacities, which have the names of the counters in
// another case; memory slices are none.
func engines(amounts mig.Amounts) map[resourceapi.QualifiedName]resourceapi.DeviceCapacity {
	names := map[string]resourceapi.QualifiedName{
		"multiprocessors": "multiprocessors", "copy-engines": "copyEngines", "decoders": "decoders",
		"encoders": "encoders", "jpeg-engines": "jpegEngines", "ofa-engines": "ofaEngines", "memory": "memory",
	}
	out := map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
	for _, a := range amounts {
		if name, ok := names[a.Name]; ok {
			out[name] = resourceapi.DeviceCapacity{Value: quantity(a)}
		}
	}
	return out
}
