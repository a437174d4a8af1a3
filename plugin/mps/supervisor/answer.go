// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What a control daemon answers. The forms are those that were seen in public
// reports of daemons of the 5xx drivers: "25.0" for a percentage, "3G" or "1024M"
// for an amount of memory, whatever the unit in which it was set, and one number
// a line for processes. Nothing else is taken for an answer.

// parsePercentage reads the answer to get_default_active_thread_percentage.
func parsePercentage(s string) (float64, error) {
	text := strings.TrimSpace(s)
	if !digits(strings.Replace(text, ".", "", 1)) || strings.HasPrefix(text, ".") {
		return 0, fmt.Errorf("%q is not a percentage", oneLine(s))
	}
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || p > 100 {
		return 0, fmt.Errorf("%q is not a percentage", oneLine(s))
	}
	return p, nil
}

// parseMiB reads the answer to get_default_device_pinned_mem_limit: an amount in
// units of G, M or K, of which 1024 make the next.
func parseMiB(s string) (float64, error) {
	text := strings.ToUpper(strings.TrimSpace(s))
	text = strings.TrimSuffix(text, "B")
	perUnit := 0.0
	for unit, mib := range map[string]float64{"G": 1024, "M": 1, "K": 1.0 / 1024} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			text, perUnit = number, mib
		}
	}
	if perUnit == 0 || len(text) > 20 || !digits(strings.Replace(text, ".", "", 1)) || strings.HasPrefix(text, ".") {
		return 0, fmt.Errorf("%q is not an amount of memory such as 1024M", oneLine(s))
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount of memory such as 1024M", oneLine(s))
	}
	return n * perUnit, nil
}

// parsePIDs reads the answers to get_server_list and get_client_list.
func parsePIDs(s string) ([]int, error) {
	var out []int
	for line := range strings.Lines(s) {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n <= 0 || !digits(text) {
			return nil, fmt.Errorf("%q is not a process", oneLine(text))
		}
		out = append(out, int(n))
	}
	return out, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// same says whether what was read back is what was set. A daemon may print an
// amount with few digits.
func same(set, got float64) bool { return math.Abs(set-got) <= 0.05 }

// status is what a server does.
type status int

const (
	active status = iota
	initializing
	fault
)

// parseStatus reads the answer to get_server_status. The manual names three states
// and not how they are printed; what is neither of the other two counts as active.
func parseStatus(s string) status {
	s = strings.ToUpper(s)
	switch {
	case strings.Contains(s, "FAULT"):
		return fault
	case strings.Contains(s, "INITIALIZING"):
		return initializing
	}
	return active
}
