// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"time"
)

// Fault is one thing that shall go wrong: which calls it concerns, when among
// them, and what happens then. It is data: it stands in the machine's
// directory, so a test arms it for a process that runs elsewhere.
type Fault struct {
	ID    string `json:"id"` // given by Inject when empty
	Match Match  `json:"match"`
	When  When   `json:"when"`
	Do    Do     `json:"do"`

	Seen  uint64 `json:"seen"`  // matching calls so far
	Fired uint64 `json:"fired"` // how often it went wrong
}

// Match selects calls. What is empty matches all.
type Match struct {
	// Call is a path.Match glob over the C name of the function, with or
	// without its version: "nvmlDeviceGetMemoryInfo" is also its _v2. What programs
	// do that no function is for has names too, such as MPSControlStart.
	Call string `json:"call,omitempty"`
	GPU  *int   `json:"gpu,omitempty"` // NVML index
	Exe  string `json:"exe,omitempty"` // glob over the base name of the calling program
}

// When selects among the matching calls, counted over all processes. The first
// After pass. Of the rest the Nth goes wrong, or every Every-th, or, when
// neither is set, all.
type When struct {
	Nth   uint64 `json:"nth,omitempty"`
	Every uint64 `json:"every,omitempty"`
	After uint64 `json:"after,omitempty"`
}

// Do is what happens. Several actions happen in the order of the fields.
type Do struct {
	Delay time.Duration `json:"delay,omitempty"` // nanoseconds in JSON
	Hang  bool          `json:"hang,omitempty"`  // until the fault is removed
	XID   *uint64       `json:"xid,omitempty"`   // on the call's GPU, else on Match.GPU

	LoseGPU     bool `json:"loseGPU,omitempty"`     // that GPU falls off the bus
	CrashBefore bool `json:"crashBefore,omitempty"` // the caller dies before the effect
	// Activation is what nvmlDeviceSetMigMode answers as its second result, the
	// first being SUCCESS; see State.SwitchMIG for the effect.
	Activation *Code `json:"activation,omitempty"`
	Return     *Code `json:"return,omitempty"`     // instead of the effect
	CrashAfter bool  `json:"crashAfter,omitempty"` // after the effect, before it hears of it
}

// setMIGMode is the one call with two results.
const setMIGMode = "nvmlDeviceSetMigMode"

var versionSuffix = regexp.MustCompile(`_v\d+$`)

func (f Fault) validate() error {
	for _, glob := range []string{f.Match.Call, f.Match.Exe} {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("fault %q: glob %q: %w", f.ID, glob, err)
		}
	}
	switch {
	case f.Do == Do{}:
		return fmt.Errorf("fault %q does nothing: give it an action", f.ID)
	case f.When.Nth > 0 && f.When.Every > 0:
		return fmt.Errorf("fault %q: nth %d and every %d exclude each other", f.ID, f.When.Nth, f.When.Every)
	case f.Do.Activation != nil && !globs(f.Match.Call, setMIGMode):
		return fmt.Errorf("fault %q: only %s has an activation status, not %q", f.ID, setMIGMode, f.Match.Call)
	case f.Do.Return != nil && f.Do.Activation != nil:
		return fmt.Errorf("fault %q: a call that returns %s has no activation status", f.ID, f.Do.Return)
	case f.Do.Return != nil && f.Do.CrashAfter:
		return fmt.Errorf("fault %q: a call that returns %s has no effect to crash after", f.ID, f.Do.Return)
	case f.Do.Delay < 0:
		return fmt.Errorf("fault %q: delay %s is negative", f.ID, f.Do.Delay)
	}
	return nil
}

func (f Fault) matches(c Call, gpu int, exe string) bool {
	return globs(f.Match.Exe, exe) &&
		(globs(f.Match.Call, c.Name) || globs(f.Match.Call, versionSuffix.ReplaceAllString(c.Name, ""))) &&
		(f.Match.GPU == nil || *f.Match.GPU == gpu)
}

func globs(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return glob == "" || (err == nil && ok)
}

func (f Fault) due() bool {
	if f.Seen <= f.When.After {
		return false
	}
	n := f.Seen - f.When.After
	switch {
	case f.When.Nth > 0:
		return n == f.When.Nth
	case f.When.Every > 0:
		return n%f.When.Every == 0
	}
	return true
}

// Around runs what a call of a program does that is not a change of the state,
// between the faults of c.
func (m *Machine) Around(c Call, effect func() Code) Code { return m.call(c, effect) }

// Inject arms a fault.
func (m *Machine) Inject(f Fault) error {
	return m.editFaults(func(all []Fault) ([]Fault, error) {
		ids := map[string]bool{}
		for _, g := range all {
			ids[g.ID] = true
		}
		for n := len(all) + 1; f.ID == ""; n++ {
			if id := "fault-" + strconv.Itoa(n); !ids[id] {
				f.ID = id
			}
		}
		if ids[f.ID] {
			return nil, fmt.Errorf("there is a fault %q already: clear it first", f.ID)
		}
		return append(all, f), f.validate()
	})
}

// Faults are the armed faults with their counts.
func (m *Machine) Faults() ([]Fault, error) { return m.readFaults() }

// ClearFaults disarms all faults; calls that hang go on.
func (m *Machine) ClearFaults() error {
	return m.editFaults(func([]Fault) ([]Fault, error) { return nil, nil })
}

// ClearFault disarms one.
func (m *Machine) ClearFault(id string) error {
	return m.editFaults(func(all []Fault) ([]Fault, error) {
		for i, f := range all {
			if f.ID == id {
				return append(all[:i:i], all[i+1:]...), nil
			}
		}
		return nil, errors.New("there is no fault " + strconv.Quote(id) + ": simctl fault list shows them")
	})
}
