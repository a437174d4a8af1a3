// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	resourceapi "k8s.io/api/resource/v1"

	"github.com/cotenant-dev/cotenant/api"
)

// asked is how a claim for the smallest profile may be written: with the class of
// that profile, or as users of the upstream driver write it.
func asked(profile string) []*resourceapi.ResourceClaim {
	return []*resourceapi.ResourceClaim{
		oneOf(className(profile)),
		oneOf(api.MIGClassName, "device.attributes['gpu.nvidia.com'].profile == '"+profile+"'"),
	}
}

// cost is what one allocation takes on each layout, and how many times as long
// on ours as right before or after on the other: medians of many.
type cost struct {
	what           string
	ours, upstream time.Duration
	ratio          float64
}

// costs times the allocation of one claim on an empty and on a full node. A full
// one has as many instances of the profile as go in, so that the allocator looks
// at every device and finds none. Several copies of each node take turns,
// because where their objects come to lie in memory makes some per cent of
// difference.
func costs(ctx context.Context, t *table, profile int, e Effort) ([]cost, error) {
	var ours, upstream []*allocator
	for range e.Copies {
		c, err := newNodes(ctx, t)
		if err != nil {
			return nil, err
		}
		ours, upstream = append(ours, c.ours(t)), append(upstream, c.upstream(t))
	}
	var out []cost
	for _, state := range []string{"empty", "full"} {
		if state == "full" {
			for _, s := range slices.Concat(ours, upstream) {
				if err := s.fill(ctx, profile); err != nil {
					return nil, fmt.Errorf("fill a node: %w", err)
				}
			}
		}
		for _, claim := range asked(t.name(profile)) {
			c := cost{what: fmt.Sprintf("%s of class %s, %s node", t.name(profile), claim.Name, state)}
			if err := c.measure(ctx, ours, upstream, claim, state == "empty", e.Rounds); err != nil {
				return nil, fmt.Errorf("%s: %w", c.what, err)
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// fill places instances of a profile until there is no room.
func (a *allocator) fill(ctx context.Context, profile int) error {
	for {
		if _, room, err := a.place(ctx, profile); err != nil || !room {
			return err
		}
	}
}

// measure takes turns, and who goes first is random: the garbage collector comes
// at a pace of its own, and with any regular order it would meet one layout more
// often than the other.
func (c *cost) measure(ctx context.Context, ours, upstream []*allocator, claim *resourceapi.ResourceClaim, room bool, rounds int) error {
	rng := rand.New(rand.NewPCG(1, 0))
	var times [2][]time.Duration
	turns := []int{0, 1}
	for i := range rounds {
		rng.Shuffle(2, func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, turn := range turns {
			s := [2][]*allocator{ours, upstream}[turn][i%len(ours)]
			begun := time.Now()
			device, err := s.find(ctx, claim)
			took := time.Since(begun)
			if err != nil {
				return err
			}
			if (device != "") != room {
				return fmt.Errorf("got %q", device)
			}
			times[turn] = append(times[turn], took)
		}
	}
	var ratios []float64
	for i := range rounds {
		ratios = append(ratios, float64(times[0][i])/float64(times[1][i]))
	}
	c.ours, c.upstream, c.ratio = median(times[0]), median(times[1]), median(ratios)
	return nil
}

func median[T cmp.Ordered](s []T) T {
	slices.Sort(s)
	return s[len(s)/2]
}
