// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"k8s.io/dynamic-resource-allocation/deviceattribute"

	"github.com/cotenant-dev/cotenant/sharing"
)

// question asks a GPU one thing and notes the answer.
type question func(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error

// questions are asked in order; the first that is not answered makes the GPU
// sick.
var questions = [...]question{uuid, minor, product, brand, architecture, computeCapability, memory, addressingMode}

func uuid(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	v, ret := dev.GetUUID()
	g.UUID = v
	return fail(lib, "nvmlDeviceGetUUID", ret)
}

func minor(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	v, ret := dev.GetMinorNumber()
	g.Minor = v
	return fail(lib, "nvmlDeviceGetMinorNumber", ret)
}

func product(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	v, ret := dev.GetName()
	g.Product = v
	return fail(lib, "nvmlDeviceGetName", ret)
}

func brand(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	v, ret := dev.GetBrand()
	g.Brand = brandName(v)
	return fail(lib, "nvmlDeviceGetBrand", ret)
}

func architecture(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	v, ret := dev.GetArchitecture()
	g.Architecture = architectureName(v)
	return fail(lib, "nvmlDeviceGetArchitecture", ret)
}

func computeCapability(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	major, minor, ret := dev.GetCudaComputeCapability()
	g.ComputeCapability = sharing.Semver(fmt.Sprintf("%d.%d", major, minor))
	return fail(lib, "nvmlDeviceGetCudaComputeCapability", ret)
}

// memory is not supported where GPU and host share it: such a GPU has no
// capacity of its own, which is not the same as none.
func memory(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	v, ret := dev.GetMemoryInfo()
	if ret == nvml.ERROR_NOT_SUPPORTED {
		return nil
	}
	g.MemoryBytes = int64(v.Total)
	return fail(lib, "nvmlDeviceGetMemoryInfo", ret)
}

// addressingMode came with driver 570: an older library lacks the function, and
// calling it would end the process.
func addressingMode(lib nvml.Interface, dev nvml.Device, g *sharing.GPU) error {
	if lib.Extensions().LookupSymbol("nvmlDeviceGetAddressingMode") != nil {
		return nil
	}
	v, ret := dev.GetAddressingMode()
	if ret == nvml.ERROR_NOT_SUPPORTED {
		return nil
	}
	if err := fail(lib, "nvmlDeviceGetAddressingMode", ret); err != nil {
		return err
	}
	g.AddressingMode = addressingModeName(nvml.DeviceAddressingModeType(v.Value))
	return nil
}

// address returns the PCI address as Linux and Kubernetes write it: lower case,
// a domain of four digits, function 0. NVML's own has eight digits.
func address(pci nvml.PciInfo) (string, error) {
	var raw strings.Builder
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		raw.WriteByte(byte(c))
	}
	a := strings.ToLower(raw.String())
	if domain, rest, ok := strings.Cut(a, ":"); ok && len(domain) == 8 && strings.HasPrefix(domain, "0000") {
		a = domain[4:] + ":" + rest
	}
	if _, err := deviceattribute.GetPCIBusIDAttribute(a); err != nil {
		return "", fmt.Errorf("nvmlDeviceGetPciInfo returns the bus id %q: %w", raw.String(), err)
	}
	return a, nil
}

// platform adds what sysfs tells. Machines that do not tell it are served all
// the same.
func platform(sysRoot string, g *sharing.GPU) {
	if root, err := deviceattribute.GetPCIeRootAttributeByPCIBusID(g.Address, deviceattribute.WithFSFromRoot(sysRoot)); err == nil && root.Value.StringValue != nil {
		g.PCIeRoot = *root.Value.StringValue
	}
	raw, err := os.ReadFile(filepath.Join(sysRoot, "bus/pci/devices", g.Address, "numa_node"))
	if err != nil {
		return
	}
	// -1 is the kernel's "no affinity" (Documentation/ABI/testing/sysfs-bus-pci).
	if node, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && node >= 0 {
		g.NUMANode = &node
	}
}
