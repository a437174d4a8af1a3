// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestJournalIsBelieved(t *testing.T) {
	for _, c := range []struct {
		name, shown string
		want        int
		wrong       string
	}{
		{"empty", "0 claims, 0 fences, 0 disagreements\n", 0, ""},
		{"claims", "claim  bench/5 claims  u  Prepared  gpu-0\n100 claims, 0 fences, 0 disagreements\n", 100, ""},
		{"at odds with itself", "wrong  x\n100 claims, 0 fences, 1 disagreements\n", 0, "1 disagreements"},
		{"nothing", "", 0, "did not print"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := recordedIn(c.shown)
			if got != c.want || (err != nil) != (c.wrong != "") {
				t.Fatalf("%d, %v; want %d, error %q", got, err, c.want, c.wrong)
			}
			if err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %q, want %q in it", err, c.wrong)
			}
		})
	}
}
