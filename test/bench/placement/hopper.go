// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
	"github.com/cotenant-dev/cotenant/test/sim/products"
)

const (
	// product is the GPU of the node, one of test/sim.
	product = "H100-80"
	// gpus is how many the node has.
	gpus = 8
)

// geometryOf is what the driver of a product reports.
func geometryOf(name string) (mig.Geometry, error) {
	p, err := products.Get(name)
	if err != nil {
		return nil, err
	}
	return p.Geometry(), nil
}

func gpuName(i int) string { return fmt.Sprintf("gpu-%d", i) }

// hopper is a GPU with everything that a driver tells about one.
func hopper(g mig.Geometry, i int) sharing.GPU {
	return sharing.GPU{
		Name: gpuName(i), Minor: i,
		Address: fmt.Sprintf("0000:%02x:00.0", 0x19+i*0x10), PCIeRoot: fmt.Sprintf("pci0000:%02x", 0x18+i*0x10), NUMANode: new(i / 4),
		UUID:    fmt.Sprintf("GPU-4404041a-04cf-1ccf-9e70-f139a9b1e2%02x", i),
		Product: "NVIDIA H100 80GB HBM3", Brand: "Nvidia", Architecture: "Hopper", ComputeCapability: "9.0.0",
		DriverVersion: "595.58.3", CUDAVersion: "13.0.0", AddressingMode: "HMM", MemoryBytes: 81559 << 20,
		MIG: &sharing.MIG{Switchable: true, Geometry: g},
	}
}
