// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

// Released is what the end of a claim comes to.
type Released struct {
	// Undo is the record whose steps run backwards now.
	Undo Record
	// Owed is what stays of the record because its hardware cannot be reached:
	// it is undone once it can. Without steps nothing is owed.
	Owed Record
	// Fences set apart the GPUs that the claim held and that cannot be reached.
	Fences []Fence
}

// Release returns what to undo because the claim ends. devices are the node's by
// published name, holds all those on its GPUs. What was done for a shared slot
// stays while another claim has a share of it.
func Release(rec Record, devices map[string]Device, holds []Hold) Released {
	rec.State = Releasing
	shared := map[string]bool{}
	for _, h := range holds {
		if h.Claim != rec.UID && !h.Admin {
			shared[h.Slot] = true
		}
	}
	lost, uuids := map[string]bool{}, map[string]string{}
	for _, d := range devices {
		lost[d.Address], uuids[d.Address] = d.Condition == Lost, d.UUID
	}
	replaced := rec.replaced(uuids)
	r := Released{Undo: rec, Owed: rec}
	r.Undo.Steps, r.Owed.Steps, r.Owed.Holds, r.Owed.Grant = nil, nil, nil, nil
	for _, s := range rec.Steps {
		switch {
		case shared[slotOf(s)]:
		case setting(s) && replaced[s.GPUs()[0]]: // it went with the board
		case hardware(s) && lost[s.GPUs()[0]]:
			r.Owed.Steps = append(r.Owed.Steps, s)
		default:
			r.Undo.Steps = append(r.Undo.Steps, s)
		}
	}
	for _, h := range rec.Holds {
		d, ok := devices[GPUOf(h.Slot)]
		// Where another claim has the same slot nothing is owed, and it is not in doubt
		// what is on the GPU.
		if h.Admin || !ok || d.Condition != Lost || shared[h.Slot] {
			continue
		}
		r.Owed.Holds = append(r.Owed.Holds, h)
		r.Fences = append(r.Fences, Fence{
			Address:   d.Address,
			Condition: Fenced,
			Why:       "claim " + h.Namespace + "/" + h.Name + " was released while the GPU did not answer",
		})
	}
	return r
}

// slotOf returns the shared slot that a step was for, or "".
func slotOf(s Step) string {
	switch s := s.(type) {
	case NoteComputeMode:
		return s.Slot
	case NoteInterval:
		return s.Slot
	case SetComputeMode:
		return s.Slot
	case SetInterval:
		return s.Slot
	case StartMPS:
		return s.Slot
	}
	return ""
}

// hardware says whether there is something to undo of a step, and only on a GPU that
// answers. A CDI spec is a file and a daemon is a process, whatever they are about.
func hardware(s Step) bool {
	if m, ok := s.(SwitchMIG); ok {
		return m.On
	}
	_, instance := s.(CreateGPUInstance)
	return instance || setting(s)
}

// setting says whether a step changes a setting of a GPU.
func setting(s Step) bool {
	switch s.(type) {
	case SetComputeMode, SetInterval:
		return true
	}
	return false
}

// replaced are the addresses at which there is another board than the one that the
// claim was given.
func (r Record) replaced(uuids map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, s := range r.Steps {
		if spec, ok := s.(WriteSpec); ok {
			for _, d := range spec.Devices {
				now := uuids[d.Address]
				out[d.Address] = now != "" && now != d.UUID
			}
		}
	}
	return out
}

// Shares says whether undoing the record depends on who else has the same slot.
func (r Record) Shares() bool {
	for _, s := range r.Steps {
		if slotOf(s) != "" {
			return true
		}
	}
	return false
}

// Fence is the journal's record that a GPU is set apart. Address is the GPU's;
// Condition is Held, Fenced or Stuck.
type Fence struct {
	Address   string
	Condition Condition
	Why       string
}

// StuckFence says that the MIG mode of a GPU could not be switched off.
func StuckFence(address string, err error) Fence {
	return Fence{Address: address, Condition: Stuck, Why: "its MIG mode could not be switched off after the last partition: " + err.Error()}
}
