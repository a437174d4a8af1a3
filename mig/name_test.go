// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
)

func TestProfilesAreNamedAsNVIDIAsToolsPrintThem(t *testing.T) {
	for name, p := range tables(t) {
		t.Run(name, func(t *testing.T) {
			for _, r := range p.Profiles {
				if got := mig.Name(r.Index, r.ComputeSlices, r.MemoryMiB, p.MemoryMiB<<20); got != r.Name {
					t.Errorf("index %d is called %s, want %s", r.Index, got, r.Name)
				}
			}
		})
	}
}

func TestProfilesOfOneSizeAreToldApartBySuffix(t *testing.T) {
	const gib = 1 << 30
	tests := []struct {
		index, slices int
		want          string
	}{
		{0, 1, "1g.24gb"}, {1, 2, "2g.24gb"}, {2, 3, "3g.24gb"}, {3, 4, "4g.24gb"}, {4, 7, "7g.24gb"}, {5, 8, "8g.24gb"}, {6, 6, "6g.24gb"},
		{7, 1, "1g.24gb+me"}, {8, 2, "2g.24gb+me"}, {9, 1, "1g.24gb"},
		{10, 1, "1g.24gb+gfx"}, {11, 2, "2g.24gb+gfx"}, {12, 4, "4g.24gb+gfx"}, {17, 3, "3g.24gb+gfx"},
		{13, 1, "1g.24gb-me"}, {14, 2, "2g.24gb-me"}, {15, 1, "1g.24gb+me.all"}, {16, 2, "2g.24gb+me.all"},
	}
	for _, tt := range tests {
		if got := mig.Name(tt.index, tt.slices, 24<<10, 96*gib); got != tt.want {
			t.Errorf("index %d is called %s, want %s", tt.index, got, tt.want)
		}
	}
}

func TestAGPUOfUnknownMemoryNamesProfilesByTheirOwn(t *testing.T) {
	if got := mig.Name(0, 1, 9984, 0); got != "1g.10gb" {
		t.Errorf("called %s, want 1g.10gb", got)
	}
}
