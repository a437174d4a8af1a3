// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import "github.com/cotenant-dev/cotenant/api/nvidia"

// Trace is what the CDI spec of a claim tells of what was done for the claim. It is
// there when the journal is not.
type Trace struct {
	Made    []Made
	Changed []Changed
}

// Made is a partition that was made for a claim.
type Made struct {
	Place
	Fact
}

// Changed is what was done to a whole GPU for a claim.
type Changed struct {
	Setting
	UUID string
	// Shared are the settings of the shared slot that the claim has a share of; nil
	// when it has the device alone.
	Shared *Shared
	// Daemon is the ID of the MPS daemon that was started, or "".
	Daemon string
	// ComputeMode and Interval are what they were, nil if they were not changed.
	ComputeMode *ComputeMode
	Interval    *nvidia.Interval
}

// Facts are those that the trace tells.
func (t Trace) Facts() Facts {
	var rec Record
	for _, m := range t.Made {
		rec.Learn(m.Slot, m.Fact)
	}
	for _, c := range t.Changed {
		if c.ComputeMode != nil {
			rec.Learn(WasComputeMode(c.Address, *c.ComputeMode))
		}
		if c.Interval != nil {
			rec.Learn(WasInterval(c.Address, *c.Interval))
		}
	}
	return rec.Facts
}

// Holds are those that a claim with this trace has on shared slots.
func (t Trace) Holds(uid string) []Hold {
	var out []Hold
	for _, c := range t.Changed {
		if c.Slot != "" {
			out = append(out, Hold{Slot: c.Slot, Claim: uid})
		}
	}
	return out
}

// Slots are the shared slots that the trace tells of, by name.
func (t Trace) Slots() map[string]Shared {
	out := map[string]Shared{}
	for _, c := range t.Changed {
		if c.Shared != nil {
			out[c.Slot] = *c.Shared
		}
	}
	return out
}

// Stray is the record of a claim whose record was lost with its journal, from
// what its CDI spec tells: enough to take back what was done for it.
func Stray(uid string, t Trace, devices map[string]Device) Record {
	rec := Record{UID: uid, State: Releasing, Facts: t.Facts(), Holds: t.Holds(uid)}
	for _, m := range t.Made {
		for _, d := range devices {
			s := SwitchMIG{Address: m.Address, On: true}
			if d.Address == m.Address && d.MIG != nil && d.MIG.Switchable && !rec.has(s) {
				rec.Steps = append(rec.Steps, s)
			}
		}
	}
	for _, m := range t.Made {
		rec.Steps = append(rec.Steps, CreateGPUInstance{m.Place}, CreateComputeInstance{m.Place})
		rec.Holds = append(rec.Holds, Hold{Slot: m.Slot, Claim: uid})
	}
	for _, c := range t.Changed {
		if c.ComputeMode != nil {
			rec.Steps = append(rec.Steps, SetComputeMode{Setting: c.Setting})
		}
		if c.Interval != nil {
			rec.Steps = append(rec.Steps, SetInterval{Setting: c.Setting, UUID: c.UUID})
		}
	}
	for _, c := range t.Changed {
		if c.Daemon != "" {
			rec.Steps = append(rec.Steps, StartMPS{Slot: c.Slot, Daemon: c.Daemon, Devices: []Served{{Address: c.Address, UUID: c.UUID}}})
		}
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
