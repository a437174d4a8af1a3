// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
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

// cost is what one allocation takes on each layout, the median of many.
type cost struct {
	what           string
	ours, upstream time.Duration
}

// costs times the allocation of one claim on an empty and on a full node. A full
// one has as many instances of the profile as go in, so that the allocator looks
// at every device and finds none.
func costs(ctx context.Context, ours, upstream *scheduler, profile, rounds int) ([]cost, error) {
	var out []cost
	for _, state := range []string{"empty", "full"} {
		for _, s := range []*scheduler{ours, upstream} {
			for full := state == "empty"; !full; {
				_, more, err := s.place(ctx, profile)
				if err != nil {
					return nil, fmt.Errorf("fill the node: %w", err)
				}
				full = !more
			}
		}
		for _, claim := range asked(ours.name(profile)) {
			c := cost{what: fmt.Sprintf("%s of class %s, %s node", ours.name(profile), claim.Name, state)}
			if err := c.measure(ctx, ours, upstream, claim, state == "empty", rounds); err != nil {
				return nil, fmt.Errorf("%s: %w", c.what, err)
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// measure takes turns, and who goes first is random: the garbage collector comes
// at a pace of its own, and with any regular order it would meet one layout more
// often than the other.
func (c *cost) measure(ctx context.Context, ours, upstream *scheduler, claim *resourceapi.ResourceClaim, room bool, rounds int) error {
	turns := []*scheduler{ours, upstream}
	rng := rand.New(rand.NewPCG(1, 0))
	times := map[*scheduler][]time.Duration{}
	for range rounds {
		rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, s := range turns {
			begun := time.Now()
			device, err := s.find(ctx, claim)
			took := time.Since(begun)
			if err != nil {
				return err
			}
			if (device != "") != room {
				return fmt.Errorf("got %q", device)
			}
			times[s] = append(times[s], took)
		}
	}
	c.ours, c.upstream = median(times[ours]), median(times[upstream])
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
