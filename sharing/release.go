// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

// Release returns what to undo because the claim ends: its record, whose steps
// run backwards, and a fence for every GPU it held that cannot be reached now.
// devices are the node's by published name.
func Release(rec Record, devices map[string]Device) (Record, []Fence) {
	rec.State = Releasing
	var fences []Fence
	for _, h := range rec.Holds {
		d, ok := devices[h.Slot]
		if h.Admin || !ok || d.Condition != Lost {
			continue
		}
		fences = append(fences, Fence{
			Address:   d.Address,
			Condition: Fenced,
			Why:       "claim " + h.Namespace + "/" + h.Name + " was released while the GPU did not answer",
		})
	}
	return rec, fences
}

// Fence is the journal's record that a GPU is set apart. Address is the GPU's;
// Condition is Held or Fenced.
type Fence struct {
	Address   string
	Condition Condition
	Why       string
}
