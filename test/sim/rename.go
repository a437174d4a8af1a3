// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// NameInstance gives the first compute instance of a GPU's nth GPU instance
// another UUID, as drivers before R470 made them: MIG-GPU-<uuid>/<gi>/<ci>.
func (m *Machine) NameInstance(gpu, nth int, uuid string) error {
	return m.update(func(s *State) error {
		g, err := s.at(gpu)
		if err != nil {
			return err
		}
		if nth >= len(g.GIs) || len(g.GIs[nth].CIs) == 0 {
			return fmt.Errorf("GPU %d has no GPU instance number %d with a compute instance", gpu, nth)
		}
		g.GIs[nth].CIs[0].UUID = uuid
		return nil
	})
}
