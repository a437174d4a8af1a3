// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// CreateInstance makes a GPU instance as somebody with nvidia-smi would, at the
// given start, withCI with the compute instance that takes all of it. profileID
// is what nvidia-smi mig -lgip shows as ID (19, 14, 9 …).
func (m *Machine) CreateInstance(gpu int, profileID, start int, withCI bool) error {
	return m.update(func(s *State) error {
		g, err := s.alive(gpu)
		if err != nil {
			return err
		}
		gi, code := s.CreateGI(g, profileID, &start)
		if code != Success {
			return fmt.Errorf("making a GPU instance of profile %d at %d on GPU %d: %s: MIG must be on (%t), and the placement free and one of its profile's",
				profileID, start, gpu, code, g.MIG.Current)
		}
		if !withCI {
			return nil
		}
		p := products[g.Product]
		pr, _ := p.ProfileByID(profileID)
		if _, code := s.CreateCI(g, gi, p.WholeCompute(pr).ID, nil); code != Success {
			return fmt.Errorf("making a compute instance in GPU instance %d on GPU %d: %s", gi.ID, gpu, code)
		}
		return nil
	})
}

// DestroyInstances destroys all instances of a GPU as somebody with nvidia-smi
// would. It fails while a process is on one, and then destroys none.
func (m *Machine) DestroyInstances(gpu int) error {
	return m.update(func(s *State) error {
		g, err := s.alive(gpu)
		if err != nil {
			return err
		}
		for len(g.GIs) > 0 {
			gi := &g.GIs[0]
			for len(gi.CIs) > 0 {
				if code := s.DestroyCI(g, gi, &gi.CIs[0]); code != Success {
					return fmt.Errorf("destroying compute instance %d of GPU instance %d on GPU %d: %s: it is in use by %s: end it first",
						gi.CIs[0].ID, gi.ID, gpu, code, s.user(g))
				}
			}
			if code := s.DestroyGI(g, gi); code != Success {
				return fmt.Errorf("destroying GPU instance %d on GPU %d: %s: it is in use by %s: end it first", gi.ID, gpu, code, s.user(g))
			}
		}
		return nil
	})
}

// alive is a GPU that answers.
func (s *State) alive(index int) (*GPU, error) {
	g, err := s.at(index)
	if err == nil && g.Lost {
		return nil, fmt.Errorf("GPU %d is off the bus: restore it first", index)
	}
	return g, err
}
