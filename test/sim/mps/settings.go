// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// settings are what the clients of a server get. A server has a copy of the
// daemon's, as they were when it was started.
type settings struct {
	ThreadPercentage float64 `json:"threadPercentage"`
	Pins             []pin   `json:"pins,omitempty"`
	Priority         int     `json:"priority,omitempty"`
}

// pin is a limit of the memory a client may have on a device, which is named by
// its position among the daemon's or by UUID. Nobody checks that there is one.
type pin struct {
	Device string `json:"device"`
	MiB    uint64 `json:"mib"`
	Text   string `json:"text"`
}

func defaults() settings { return settings{ThreadPercentage: 100} }

func (s settings) clone() settings {
	s.Pins = slices.Clone(s.Pins)
	return s
}

// setPercentage takes a number above 0 up to 100 and returns what is then said.
func (s *settings) setPercentage(text string) (string, error) {
	v, err := ParsePercentage(text)
	if err != nil {
		return "", err
	}
	s.ThreadPercentage = v
	return s.percentage(), nil
}

func (s *settings) percentage() string { return strconv.FormatFloat(s.ThreadPercentage, 'f', 1, 64) }

// ParsePercentage reads a number above 0 up to 100.
func ParsePercentage(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 100) {
		return 0, fmt.Errorf("active thread percentage %q: want a number above 0 and up to 100", text)
	}
	return v, nil
}

// setPin limits a device. The newest limit of a device stands last.
func (s *settings) setPin(device, text string) (string, error) {
	miB, err := ParseMemory(text)
	if err != nil {
		return "", err
	}
	s.Pins = slices.DeleteFunc(s.Pins, func(p pin) bool { return p.Device == device })
	s.Pins = append(s.Pins, pin{device, miB, text})
	return text, nil
}

// pinText is the limit of a device as it was set, "0M" where none was.
func (s *settings) pinText(device string) string {
	for _, p := range s.Pins {
		if p.Device == device {
			return p.Text
		}
	}
	return "0M"
}

// limit is that of the device at a position, in MiB; 0 for none. When it is
// limited by position and by UUID, the newer holds.
func (s *settings) limit(position int, uuid string, ignoreUUIDs bool) uint64 {
	var miB uint64
	for _, p := range s.Pins {
		if p.Device == strconv.Itoa(position) || p.Device == uuid && !ignoreUUIDs {
			miB = p.MiB
		}
	}
	return miB
}

func (s *settings) setPriority(text string) (string, error) {
	if text != "0" && text != "1" {
		return "", fmt.Errorf("client priority %q: want 0 (normal) or 1 (below normal)", text)
	}
	s.Priority = int(text[0] - '0')
	return text, nil
}

var memoryForm = regexp.MustCompile(`^(\d{1,9})([GM])$`)

// ParseMemory reads a whole number followed by G or M, which are powers of 1024.
func ParseMemory(text string) (miB uint64, err error) {
	m := memoryForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("memory limit %q: want a whole number followed by G or M", text)
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return 0, err
	}
	if m[2] == "G" {
		n *= 1024
	}
	return n, nil
}
