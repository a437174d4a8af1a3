// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

// Stray is the record of a claim whose record was lost with its journal, from
// what its CDI spec tells: enough to take back what was made for it.
func Stray(uid string, made []Made, devices map[string]Device) Record {
	rec := Record{UID: uid, State: Releasing}
	for _, m := range made {
		for _, d := range devices {
			s := SwitchMIG{Address: m.Address, On: true}
			if d.Address == m.Address && d.MIG != nil && d.MIG.Switchable && !rec.has(s) {
				rec.Steps = append(rec.Steps, s)
			}
		}
	}
	for _, m := range made {
		rec.Steps = append(rec.Steps, CreateGPUInstance{m.Place}, CreateComputeInstance{m.Place})
		rec.Learn(m.Slot, m.Fact)
		rec.Holds = append(rec.Holds, Hold{Slot: m.Slot, Claim: uid})
	}
	rec.Steps = append(rec.Steps, WriteSpec{Claim: uid})
	return rec
}

// has says whether the step is among those of the record.
func (r *Record) has(s SwitchMIG) bool {
	for _, have := range r.Steps {
		if have == Step(s) {
			return true
		}
	}
	return false
}

// Adoptable returns the devices as the claim that these partitions were made for
// must see them when its record is made again: the instances are its own, and the
// processes on them too.
func Adoptable(devices map[string]Device, made []Made) map[string]Device {
	ours := map[string]bool{}
	for _, m := range made {
		ours[m.UUID] = true
	}
	out := map[string]Device{}
	for name, d := range devices {
		if d.Condition == Held {
			d.Condition = Ready
		}
		instances := d.Instances
		d.Instances = nil
		for _, i := range instances {
			i.Stray = false
			i.Foreign = i.Foreign && !ours[i.UUID]
			d.Instances = append(d.Instances, i)
		}
		out[name] = d
	}
	return out
}
