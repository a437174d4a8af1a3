// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/hardware/readonly"
	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// driver is what is installed.
type driver struct{ version, cuda string }

func driverOf(lib readonly.Library) (driver, error) {
	version, ret := lib.SystemGetDriverVersion()
	if ret != nvml.SUCCESS {
		return driver{}, fmt.Errorf("nvmlSystemGetDriverVersion says %v", ret)
	}
	cuda, ret := lib.SystemGetCudaDriverVersion()
	if ret != nvml.SUCCESS {
		return driver{}, fmt.Errorf("nvmlSystemGetCudaDriverVersion says %v", ret)
	}
	// 12020 is 12.2 (nvml.h, NVML_CUDA_DRIVER_VERSION_MAJOR).
	return driver{version, fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10)}, nil
}

// lookAtTwin asks a simulated machine that is as g: of its product, at its address,
// in its mode, with its partitions, under its driver, asked by the same user. dir is
// where the machine may be.
func lookAtTwin(g *gpu, product string, d driver, dir string, uid int) (*gpu, error) {
	m, err := sim.Create(dir, sim.Config{Driver: d.version, CUDA: d.cuda, GPUs: []sim.GPUConfig{{Product: product, PCI: g.address, MIG: g.on}}})
	if err != nil {
		return nil, fmt.Errorf("simulate a %s under driver %s: %w", product, d.version, err)
	}
	for _, p := range g.parts {
		if err := m.CreateInstance(0, p.profile, p.start, p.filled); err != nil {
			g.leave("the simulator cannot make the partition of profile id %d at %d: %v", p.profile, p.start, err)
		}
	}
	lib := readonly.New(nvmlapi.New(m, nvmlapi.AsUser(uid)))
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("the simulated nvmlInit says %v", ret)
	}
	defer lib.Shutdown()
	twin, err := look(lib, 0)
	if _, asked := g.said[turns]; err != nil || !asked {
		return twin, err
	}
	said, err := turnsOf(product, g.on)
	twin.note(turns, said)
	return twin, err
}
