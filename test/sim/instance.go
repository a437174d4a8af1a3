// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

// GPUInstance is a partition of a GPU with MIG enabled: memory, compute slices
// and engines of its own.
type GPUInstance struct {
	ID        int `json:"id"`
	ProfileID int `json:"profileID"`
	Start     int `json:"start"` // in memory units
	Size      int `json:"size"`
	// Seq numbers everything that was ever made on the machine. An id comes
	// back after a destroy, a Seq never does: it tells a stale handle.
	Seq uint64            `json:"seq"`
	CIs []ComputeInstance `json:"cis,omitempty"`
}

// ComputeInstance is a part of a GPU instance that programs run on: a MIG device.
type ComputeInstance struct {
	ID          int    `json:"id"`
	ProfileID   int    `json:"profileID"`
	Start       int    `json:"start"` // in compute slices of the GPU instance
	Size        int    `json:"size"`
	UUID        string `json:"uuid"`        // "MIG-…"
	Index       int    `json:"index"`       // of the MIG device under its GPU
	ComputeMode int    `json:"computeMode"` // an nvmlComputeMode_t
	Seq         uint64 `json:"seq"`
}

// GI finds a GPU instance by its id; nil when there is none.
func (g *GPU) GI(id int) *GPUInstance {
	for i := range g.GIs {
		if g.GIs[i].ID == id {
			return &g.GIs[i]
		}
	}
	return nil
}

// CI finds a compute instance by its id; nil when there is none.
func (gi *GPUInstance) CI(id int) *ComputeInstance {
	for i := range gi.CIs {
		if gi.CIs[i].ID == id {
			return &gi.CIs[i]
		}
	}
	return nil
}

// Made finds the instances that were made with the number seq: a GPU instance
// alone, or a compute instance in its GPU instance. Both are nil when it is gone.
func (g *GPU) Made(seq uint64) (*GPUInstance, *ComputeInstance) {
	return g.instance(func(gi *GPUInstance, ci *ComputeInstance) bool {
		return ci == nil && gi.Seq == seq || ci != nil && ci.Seq == seq
	})
}

// MIGDevice finds the MIG device of an index; nil for a gap.
func (g *GPU) MIGDevice(index int) (*GPUInstance, *ComputeInstance) {
	return g.instance(func(_ *GPUInstance, ci *ComputeInstance) bool { return ci != nil && ci.Index == index })
}

// MIGDevice finds a MIG device by UUID in the machine. All are nil when there
// is none.
func (s *State) MIGDevice(uuid string) (*GPU, *GPUInstance, *ComputeInstance) {
	for i := range s.GPUs {
		gi, ci := s.GPUs[i].instance(func(_ *GPUInstance, ci *ComputeInstance) bool { return ci != nil && ci.UUID == uuid })
		if ci != nil {
			return &s.GPUs[i], gi, ci
		}
	}
	return nil, nil, nil
}

// instance is the first instance that is wanted; ci is nil when a GPU instance
// itself is asked about.
func (g *GPU) instance(wanted func(gi *GPUInstance, ci *ComputeInstance) bool) (*GPUInstance, *ComputeInstance) {
	for i := range g.GIs {
		gi := &g.GIs[i]
		if wanted(gi, nil) {
			return gi, nil
		}
		for j := range gi.CIs {
			if wanted(gi, &gi.CIs[j]) {
				return gi, &gi.CIs[j]
			}
		}
	}
	return nil, nil
}
