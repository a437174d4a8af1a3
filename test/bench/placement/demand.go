// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"

	"github.com/cotenant-dev/cotenant/mig"
)

// mix is what the tenants of a node ask for, in which shares.
type mix struct {
	name string
	asks []ask
}

type ask struct {
	profile string
	share   float64 // of all claims; they add up to 1
}

// mixes are for an H100 80GB. The first is the one that the order was first
// tried with, and the others press on it from two sides.
func mixes() []mix {
	return []mix{
		{"general", []ask{{"1g.10gb", 0.45}, {"2g.20gb", 0.25}, {"3g.40gb", 0.18}, {"4g.40gb", 0.07}, {"7g.80gb", 0.05}}},
		{"mostly small", []ask{{"1g.10gb", 0.75}, {"2g.20gb", 0.10}, {"3g.40gb", 0.15}}},
		{"inference", []ask{{"1g.10gb", 0.20}, {"1g.20gb", 0.45}, {"2g.20gb", 0.20}, {"3g.40gb", 0.10}, {"4g.40gb", 0.05}}},
	}
}

// claim is one that comes at a time and, if it is placed, stays for a while. The
// unit of time is the mean stay.
type claim struct {
	profile   int
	at, stays float64
}

// demand makes claims that come at random and stay for an exponential time, n of
// them after the first warmUp. Their mean rate is such that, were all placed, they
// would hold the part load of the memory of all GPUs. A seed always gives the
// same claims.
func demand(m mix, t *table, gpus int, load float64, seed uint64, n int) ([]claim, error) {
	ids := make([]int, len(m.asks))
	mean := 0.0
	for i, a := range m.asks {
		id, err := profileNamed(t.geometry, a.profile)
		if err != nil {
			return nil, fmt.Errorf("mix %q: %w", m.name, err)
		}
		ids[i] = id
		mean += a.share * t.memory(id)
	}
	rate := load * float64(gpus) / mean
	rng := rand.New(rand.NewPCG(seed, 0))
	var out []claim
	for now := 0.0; n > 0; {
		now += rng.ExpFloat64() / rate
		out = append(out, claim{profile: ids[m.pick(rng.Float64())], at: now, stays: rng.ExpFloat64()})
		if now >= warmUp {
			n--
		}
	}
	return out, nil
}

// pick turns a number in [0, 1) into the index of an ask.
func (m mix) pick(x float64) int {
	for i, a := range m.asks {
		if x < a.share {
			return i
		}
		x -= a.share
	}
	return len(m.asks) - 1
}

func profileNamed(g mig.Geometry, name string) (int, error) {
	for _, p := range g {
		if p.Name == name {
			return p.ID, nil
		}
	}
	return 0, fmt.Errorf("the GPU has no profile %s", name)
}
