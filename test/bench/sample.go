// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"time"
)

// sample is what was measured, in the order of the measurements. Durations are
// in milliseconds.
type sample []float64

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (s *sample) add(d time.Duration) { *s = append(*s, milliseconds(d)) }

// take adds the time that f takes. A call that fails is not a sample.
func (s *sample) take(f func() error) error {
	begun := time.Now()
	err := f()
	if took := time.Since(begun); err == nil {
		s.add(took)
	}
	return err
}

// percentile returns the value at the nearest rank: the smallest of which at
// least p percent of the values are no greater. p is from 1 to 100. Without
// values it is NaN, which meets no bar.
func (s sample) percentile(p int) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := (p*len(sorted) + 99) / 100
	return sorted[rank-1]
}

// sum adds all values up.
func (s sample) sum() float64 {
	total := 0.0
	for _, v := range s {
		total += v
	}
	return total
}
