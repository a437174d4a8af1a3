// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"time"
)

// Call names one call into the driver library, for the faults to match.
type Call struct {
	Name string // the C function, "nvmlDeviceGetMemoryInfo_v2"
	UUID string // the GPU it is about, "" for none
	// Activated is told what a fault wants nvmlDeviceSetMigMode to answer as its
	// second result. It is nil for every other call.
	Activated func(Code)
}

// Query answers a call that changes nothing. f reads the state; faults strike
// before and after it. An unreadable machine answers DRIVER_NOT_LOADED.
func (m *Machine) Query(c Call, f func(*State) Code) Code {
	return m.call(c, func() Code {
		code := Unknown
		if err := m.view(func(s *State) error { code = f(s); return nil }); err != nil {
			return DriverNotLoaded
		}
		return code
	})
}

// Change answers a call that changes the machine. What f did is kept when it
// answers Success, and otherwise forgotten. The call is logged first.
func (m *Machine) Change(c Call, f func(*State) Code) Code {
	if err := m.Log(Logged{Call: c.Name, UUID: c.UUID}); err != nil {
		return DriverNotLoaded
	}
	return m.call(c, func() Code {
		code := Unknown
		err := m.update(func(s *State) error {
			if code = f(s); code != Success {
				return errRefused
			}
			return nil
		})
		if err != nil && code == Success {
			return Unknown
		}
		return code
	})
}

// errRefused keeps update from committing what a refused call did.
var errRefused = errors.New("refused")

// call runs effect between the faults of c. No lock is held while a fault
// waits, hangs or kills.
func (m *Machine) call(c Call, effect func() Code) Code {
	due, gpu, err := m.strike(c)
	if err != nil {
		return DriverNotLoaded
	}
	for _, f := range due {
		if code := m.before(c, f, gpu); code != nil {
			return *code
		}
	}
	code := effect()
	for _, f := range due {
		if f.Do.CrashAfter {
			m.crash()
		}
	}
	return code
}

// before does what f asks for ahead of the effect. A result replaces the effect.
func (m *Machine) before(c Call, f Fault, gpu int) *Code {
	time.Sleep(f.Do.Delay)
	for f.Do.Hang && m.armed(f.ID) {
		time.Sleep(hangPoll)
	}
	if gpu < 0 && f.Match.GPU != nil {
		gpu = *f.Match.GPU
	}
	if err := m.strikeGPU(f.Do, gpu); err != nil {
		code := Unknown
		return &code
	}
	if f.Do.CrashBefore {
		m.crash()
	}
	if f.Do.Activation != nil && c.Activated != nil {
		c.Activated(*f.Do.Activation)
	}
	return f.Do.Return
}

func (m *Machine) strikeGPU(do Do, gpu int) error {
	if do.XID != nil {
		if err := m.XID(gpu, *do.XID, nil, nil); err != nil {
			return err
		}
	}
	if do.LoseGPU {
		return m.LoseGPU(gpu)
	}
	return nil
}
