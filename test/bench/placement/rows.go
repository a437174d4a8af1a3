// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math"
	"time"
)

// The bars. A value meets one when it is not above it.
const (
	// fourBar is by how many points fewer claims for 4g the order of names accepts,
	// in the first mix at the lower load. A fixed order has not much more to give:
	// of the 72 that keep neighbouring starts together none gained clearly more than
	// 8 points, and ours is among the best of them.
	fourBar = -7.0
	// memoryBar is how many points of the memory our order may leave unused that the
	// order of names would have sold, in any mix.
	memoryBar = 0.5
	// costBar is how many times as long an allocation may take as on the upstream
	// layout.
	costBar = 1.05
	// selectorBar is the same for claims written for the upstream driver. Their
	// selector is evaluated besides the class and sees one attribute more.
	selectorBar = 1.10
)

// Row is one figure of the report.
type Row struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Bar   *float64 `json:"bar"` // the value has to be at or below it
	OK    bool     `json:"ok"`
}

// figure is a row without a bar.
func figure(name string, value float64, unit string) Row {
	return Row{Name: name, Value: rounded(value), Unit: unit, OK: true}
}

// barred is a row that has to be at or below the bar. What is compared is what
// is printed.
func barred(name string, value float64, unit string, bar float64) Row {
	r := figure(name, value, unit)
	r.Bar, r.OK = &bar, r.Value <= bar
	return r
}

func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// rows turns what was found into figures.
func rows(t *table, results []result, costs []cost) ([]Row, error) {
	four, err := profileNamed(t.geometry, "4g.40gb")
	if err != nil {
		return nil, err
	}
	gain := func(r result, one, other string, what func(outcome) float64) float64 {
		mean, _ := r.over(one, other, what)
		return mean
	}
	first := results[0]
	out := []Row{
		barred("4g.40gb accepted in "+first.String()+", order of names over ours", gain(first, byNames, bySpace, accepted(four)), "points", fourBar),
		figure("4g.40gb accepted in "+first.String()+", best fit over ours", gain(first, bestOf, bySpace, accepted(four)), "points"),
	}
	for _, r := range results {
		out = append(out,
			barred("memory used in "+r.String()+", order of names over ours", gain(r, byNames, bySpace, held), "points", memoryBar),
			figure("memory used in "+r.String()+", best fit over ours", gain(r, bestOf, bySpace, held), "points"))
	}
	for _, c := range costs {
		bar := costBar
		if c.selector {
			bar = selectorBar
		}
		out = append(out,
			figure("allocation of "+c.what, float64(c.ours)/float64(time.Millisecond), "ms"),
			barred("allocation of "+c.what+", over upstream", c.ratio, "times", bar))
	}
	return out, nil
}

// plusMinus is a difference with its standard error.
func plusMinus(mean, stderr float64) string { return fmt.Sprintf("%+.2f ± %.2f", mean, stderr) }
