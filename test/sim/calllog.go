// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Logged is one call into the driver that may change the machine, or one command
// line of nvidia-smi, as the call log has it. It stands there from when it was
// made, whatever came of it.
type Logged struct {
	Call string   `json:"call"`           // the C function, or "nvidia-smi"
	UUID string   `json:"uuid,omitempty"` // the GPU it is about
	Args []string `json:"args,omitempty"` // of nvidia-smi
	Exe  string   `json:"exe"`            // base name of the calling program
	PID  int      `json:"pid"`
}

// Log adds a call to the log, in one write: no lock is needed.
func (m *Machine) Log(l Logged) error {
	l.Exe, l.PID = executable(), os.Getpid()
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(m.path("calls.log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// CallLog is every call so far that may have changed the machine, oldest first,
// over all processes and from the machine's creation.
func (m *Machine) CallLog() ([]Logged, error) {
	b, err := os.ReadFile(m.path("calls.log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Logged
	for line := range bytes.Lines(b) {
		var l Logged
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s is damaged: %w", m.path("calls.log"), err)
		}
		all = append(all, l)
	}
	return all, nil
}

// Calls counts the calls in the log whose name matches: a glob over the name of
// the C function, with or without its version. It is -1, which no test expects,
// when the log cannot be read.
func (m *Machine) Calls(name string) int {
	all, err := m.CallLog()
	if err != nil {
		return -1
	}
	n := 0
	for _, l := range all {
		if named := (Fault{Match: Match{Call: name}}); named.matches(Call{Name: l.Call}, -1, l.Exe) {
			n++
		}
	}
	return n
}
