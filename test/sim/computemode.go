// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// SetComputeMode is what nvmlDeviceSetComputeMode does to a GPU. It works at once
// and on a busy one. With MIG enabled the mode is the MIG devices' to set (NVML
// header); the code is not confirmed.
func (g *GPU) SetComputeMode(mode int) Code {
	switch {
	case !validComputeMode(mode):
		return InvalidArgument
	case g.MIG.Current:
		return NotSupported
	}
	g.ComputeMode = mode
	return Success
}

// PresetComputeMode sets the compute mode of a GPU as an admin would have.
func (m *Machine) PresetComputeMode(index, mode int) error {
	return m.update(func(s *State) error {
		g, err := s.alive(index)
		if err != nil {
			return err
		}
		if c := g.SetComputeMode(mode); c != Success {
			return fmt.Errorf("compute mode %d on GPU %d: %s: want 0 (DEFAULT), 2 (PROHIBITED) or 3 (EXCLUSIVE_PROCESS), with MIG off", mode, index, c)
		}
		return nil
	})
}

// computeModes are the modes by their names in nvidia-smi -c.
var computeModes = map[string]int{"DEFAULT": ComputeDefault, "PROHIBITED": ComputeProhibited, "EXCLUSIVE_PROCESS": ComputeExclusiveProcess}

// ComputeModeName is a mode's name in nvidia-smi -c.
func ComputeModeName(mode int) string {
	for name, m := range computeModes {
		if m == mode {
			return name
		}
	}
	return fmt.Sprint(mode)
}

// ParseComputeMode reads a mode as nvidia-smi -c does: a name or a number.
func ParseComputeMode(text string) (int, error) {
	for name, mode := range computeModes {
		if text == name || text == fmt.Sprint(mode) {
			return mode, nil
		}
	}
	return 0, fmt.Errorf("compute mode %q: want DEFAULT (0), PROHIBITED (2) or EXCLUSIVE_PROCESS (3)", text)
}
