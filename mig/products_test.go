// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"testing"

	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/test/sim/products"
)

// tables are those of the GPUs that can be partitioned, by name.
func tables(t *testing.T) map[string]products.Product {
	t.Helper()
	all, err := products.All()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range all {
		if len(p.Profiles) == 0 {
			delete(all, name)
		}
	}
	return all
}

func geometry(t *testing.T, name string) mig.Geometry {
	t.Helper()
	p, err := products.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.Geometry()
}

// everyTable runs a test on each table.
func everyTable(t *testing.T, test func(t *testing.T, g mig.Geometry)) {
	for name, p := range tables(t) {
		t.Run(name, func(t *testing.T) { test(t, p.Geometry()) })
	}
}

// at is the partition of the profile with that name which begins there.
func at(t *testing.T, g mig.Geometry, name string, start int) mig.Partition {
	t.Helper()
	for _, p := range g.Partitions() {
		if profile, _ := g.Profile(p.Profile); profile.Name == name && p.Start == start {
			return p
		}
	}
	t.Fatalf("no %s at %d", name, start)
	return mig.Partition{}
}
