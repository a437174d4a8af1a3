// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParsePercentage(t *testing.T) {
	for text, want := range map[string]float64{"25.0": 25, "100.0\n": 100, " 50 ": 50, "12.5": 12.5, "0": 0} {
		if got, err := parsePercentage(text); err != nil || got != want {
			t.Errorf("%q is %g, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "100.1", "-1", "1e1", "25%", "25.0\n50.0", ".5", "0x10", "NaN", "Inf", "25.0.0", "+25", strings.Repeat("9", 500)} {
		if got, err := parsePercentage(text); err == nil {
			t.Errorf("%q is %g", text, got)
		}
	}
}

func TestParseMiB(t *testing.T) {
	for text, want := range map[string]float64{"18432M": 18432, "3G\n": 3072, "1.5G": 1536, "1024MB": 1024, "2gb": 2048, "512K": 0.5, "0M": 0} {
		if got, err := parseMiB(text); err != nil || got != want {
			t.Errorf("%q is %g MiB, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "M", "G", "B", "1024", "-1M", "1e3M", "1T", "10 G", "1M\n2M", ".5G", "NaNG", "1..5G", strings.Repeat("9", 400) + "M"} {
		if got, err := parseMiB(text); err == nil {
			t.Errorf("%q is %g MiB", text, got)
		}
	}
}

func TestParsePIDs(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "\n": nil, "17": {17}, "17\n18\n": {17, 18}, " 17 \r\n\n18": {17, 18}} {
		if got, err := parsePIDs(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "-1", "+1", "1 2", "server 17", "17\nx", "4294967296", "1e3"} {
		if got, err := parsePIDs(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	for text, want := range map[string]status{"ACTIVE": active, "INITIALIZING\n": initializing, "Fault": fault, "": active} {
		if got := parseStatus(text); got != want {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// What a limit is read back as counts as the limit, and its neighbours do not.
func TestSame(t *testing.T) {
	for text, want := range map[string]bool{"9536M": true, "9537M": false, "9535M": false, "9.3125G": true, "9.3G": false} {
		got, err := parseMiB(text)
		if err != nil || same(9536, got) != want {
			t.Errorf("%s for 9536: %g, %v", text, got, err)
		}
	}
}

// Whatever a control daemon answers, it is read as what it can mean, or refused.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{"", "25.0\n", "18432M", "3G", "17\n18\n", "ACTIVE", "0x1p-2", "9999999999999999999999G", "\x00", "1_000", "٣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := parsePercentage(s); err == nil && !(p >= 0 && p <= 100) {
			t.Errorf("percentage %q is %g", s, p)
		}
		if m, err := parseMiB(s); err == nil && (m < 0 || math.IsInf(m, 0) || math.IsNaN(m)) {
			t.Errorf("memory %q is %g", s, m)
		}
		pids, err := parsePIDs(s)
		for _, pid := range pids {
			if err != nil || pid <= 0 {
				t.Errorf("processes %q are %v, %v", s, pids, err)
			}
		}
		if st := parseStatus(s); st != active && st != initializing && st != fault {
			t.Errorf("status %q is %v", s, st)
		}
		if line := oneLine(s); len(line) > 3*maxShown || strings.ContainsAny(line, "\n\x00\x1b") {
			t.Errorf("%q in one line is %q", s, line)
		}
	})
}
