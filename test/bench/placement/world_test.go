// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
)

func newTestTable(t *testing.T) *table {
	t.Helper()
	g, err := geometryOf(product)
	if err != nil {
		t.Fatal(err)
	}
	return newTable(g)
}

func newTestNodes(t *testing.T, tb *table) nodes {
	t.Helper()
	n, err := newNodes(t.Context(), tb)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// id is the profile of that name.
func (t *table) id(tt *testing.T, name string) int {
	tt.Helper()
	id, err := profileNamed(t.geometry, name)
	if err != nil {
		tt.Fatal(err)
	}
	return id
}

// at is a slot by the name of its profile.
func (t *table) at(tt *testing.T, gpu int, name string, start int) slot {
	tt.Helper()
	id := t.id(tt, name)
	for _, p := range t.partitions {
		if p.Profile == id && p.Start == start {
			return slot{gpu, p}
		}
	}
	tt.Fatalf("there is no %s at %d", name, start)
	return slot{}
}

// overlapping says whether two slots share units of a GPU.
func overlapping(a, b slot) bool {
	return a.gpu == b.gpu && mig.Placement.Overlaps(a.Placement, b.Placement)
}
