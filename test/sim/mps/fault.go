// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import "github.com/cotenant-dev/cotenant/test/sim"

// around runs effect between the faults of a call on each of the devices.
func around(m *sim.Machine, name string, devices []string, effect func() sim.Code) sim.Code {
	if len(devices) == 0 {
		return m.Around(sim.Call{Name: name}, effect)
	}
	return m.Around(sim.Call{Name: name, UUID: gpuOf(m, devices[0])}, func() sim.Code {
		if len(devices) == 1 {
			return effect()
		}
		return around(m, name, devices[1:], effect)
	})
}

// gpuOf is the UUID of the GPU that a device is or is part of, and that of the
// device where there is none.
func gpuOf(m *sim.Machine, device string) string {
	s, err := m.State()
	if err != nil {
		return device
	}
	if g, _, _ := s.MIGDevice(device); g != nil {
		return g.UUID
	}
	return device
}
