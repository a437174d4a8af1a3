// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

// EventXID is the type of an XID event (nvmlEventTypeXidCriticalError).
const EventXID uint64 = 0x8

// EventMIGConfig is the type of the event that instances or the MIG mode have
// changed (nvmlEventMigConfigChange). That the driver reports each change, and
// with no data, is not confirmed.
const EventMIGConfig uint64 = 0x100

// xidFellOffBus is the XID with which the driver reports a GPU that does not
// answer on the bus any more (NVIDIA, "XID Errors", 79).
const xidFellOffBus = 79

// maxEvents is how many events are kept. A reader that lags further behind
// misses the oldest; NVML does not say how long its own queue is.
const maxEvents = 256

// XID reports an XID error of a GPU to everybody who had registered. gi and ci
// narrow it to a GPU instance and a compute instance; nil means the whole GPU.
func (m *Machine) XID(gpu int, xid uint64, gi, ci *uint32) error {
	return m.update(func(s *State) error {
		g, err := s.at(gpu)
		if err != nil {
			return err
		}
		s.emit(Event{UUID: g.UUID, Type: EventXID, Data: xid, GI: gi, CI: ci})
		return nil
	})
}

func (s *State) emit(e Event) {
	s.EventSeq++
	e.Seq = s.EventSeq
	s.Events = append(s.Events, e)
	if n := len(s.Events) - maxEvents; n > 0 {
		s.Events = append([]Event(nil), s.Events[n:]...)
	}
}
