// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cotenant-dev/cotenant/api"
)

// Publish returns what the API server is told about the devices: one list of
// devices per GPU, each of which becomes a slice of its own, so that a change on
// one GPU rewrites one slice. The order is that of the published names and does
// not depend on the order of the input.
//
// Names, attributes, their types and the capacity are those of the upstream
// driver, so that selectors written for it keep matching. A GPU that publishes
// one device needs no counters.
func Publish(devices []Device) [][]resourceapi.Device {
	sorted := slices.Clone(devices)
	slices.SortFunc(sorted, func(a, b Device) int { return compareNames(a.Name, b.Name) })
	out := make([][]resourceapi.Device, 0, len(sorted))
	for _, d := range sorted {
		out = append(out, []resourceapi.Device{whole(d)})
	}
	return out
}

// Sorted returns the devices of a roster by name in the order they are published.
func Sorted(byName map[string]Device) []Device {
	return slices.SortedFunc(maps.Values(byName), func(a, b Device) int { return compareNames(a.Name, b.Name) })
}

// compareNames orders "gpu-2" before "gpu-10".
func compareNames(a, b string) int {
	if len(a) != len(b) && strings.HasPrefix(a, "gpu-") && strings.HasPrefix(b, "gpu-") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// whole is the device of a whole GPU.
func whole(d Device) resourceapi.Device {
	attributes := map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{}
	text := func(name resourceapi.QualifiedName, v string) {
		if v != "" {
			attributes[name] = resourceapi.DeviceAttribute{StringValue: &v}
		}
	}
	version := func(name resourceapi.QualifiedName, v string) {
		if v != "" {
			attributes[name] = resourceapi.DeviceAttribute{VersionValue: &v}
		}
	}
	text("type", api.TypeGPU)
	text("uuid", d.UUID)
	text("productName", d.Product)
	text("brand", d.Brand)
	text("architecture", d.Architecture)
	version("cudaComputeCapability", d.ComputeCapability)
	version("driverVersion", d.DriverVersion)
	version("cudaDriverVersion", d.CUDAVersion)
	text("resource.kubernetes.io/pciBusID", d.Address)
	// The name that earlier releases of the upstream driver used.
	text("pcieBusID", d.Address)
	text("resource.kubernetes.io/pcieRoot", d.PCIeRoot)
	text("addressingMode", d.AddressingMode)
	if d.NUMANode != nil {
		node := int64(*d.NUMANode)
		attributes["resource.kubernetes.io/numaNode"] = resourceapi.DeviceAttribute{IntValue: &node}
	}
	dev := resourceapi.Device{Name: d.Name, Attributes: attributes, Taints: taints(d)}
	if d.MemoryBytes > 0 {
		dev.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: *resource.NewQuantity(d.MemoryBytes, resource.BinarySI)},
		}
	} else {
		// Unknown is not zero: a selector on memory must not match.
		text("memoryType", "unified")
	}
	return dev
}

// taints keeps claims from a device that may not be handed out.
func taints(d Device) []resourceapi.DeviceTaint {
	key := map[Condition]string{Lost: api.TaintGPULost, Held: api.TaintHeld, Fenced: api.TaintFenced}[d.Condition]
	if key == "" {
		return nil
	}
	return []resourceapi.DeviceTaint{{Key: key, Effect: resourceapi.DeviceTaintEffectNoSchedule}}
}

// Semver turns a version as NVIDIA writes it into the three numbers that a
// version attribute takes: "535.129.03" is "535.129.3", "8.0" is "8.0.0". What
// is not made of numbers yields "".
func Semver(v string) string {
	parts := strings.Split(v, ".")
	if len(parts) > 3 {
		parts = parts[:3]
	}
	out := []string{"0", "0", "0"}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 32)
		if err != nil {
			return ""
		}
		out[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(out, ".")
}
