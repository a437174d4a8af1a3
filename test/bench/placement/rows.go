// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"time"

	"github.com/cotenant-dev/cotenant/test/bench/figure"
)

// The bars.
const (
	// fourBar is how many points more of the claims for 4g our order has to accept
	// than the order of names, in the first setting.
	fourBar = 8.0
	// memoryBar is how many points of the memory our order may leave unused that the
	// order of names would have sold, in any setting.
	memoryBar = 0.5
	// costBar is how many times as long an allocation may take as on the upstream
	// layout.
	costBar = 1.05
)

// rows turns what was found into figures.
func rows(t *table, results []result, costs []cost) ([]figure.Row, error) {
	four, err := profileNamed(t.geometry, "4g.40gb")
	if err != nil {
		return nil, err
	}
	var out []figure.Row
	for i, r := range results {
		if _, asked := r.layouts[byNames][0].offered[four]; !asked {
			continue
		}
		name := "4g.40gb accepted in " + r.String()
		gain, _ := r.over(bySpace, byNames, accepted(four))
		more, _ := r.over(bestOf, bySpace, accepted(four))
		if i == 0 {
			out = append(out, figure.AtLeast(name+", over order of names", gain, "points", fourBar))
		} else {
			out = append(out, figure.Plain(name+", over order of names", gain, "points"))
		}
		out = append(out, figure.Plain(name+", best fit over ours", more, "points"))
	}
	for _, r := range results {
		gain, _ := r.over(bySpace, byNames, held)
		more, _ := r.over(bestOf, bySpace, held)
		out = append(out,
			figure.AtLeast("memory held in "+r.String()+", over order of names", gain, "points", -memoryBar),
			figure.Plain("memory held in "+r.String()+", best fit over ours", more, "points"))
	}
	for _, c := range costs {
		out = append(out,
			figure.Plain("allocation of "+c.what, float64(c.ours)/float64(time.Millisecond), "ms"),
			figure.AtMost("allocation of "+c.what+", over upstream", c.ratio, "times", costBar))
	}
	return out, nil
}

// plusMinus is a difference with its standard error.
func plusMinus(mean, stderr float64) string { return fmt.Sprintf("%+.2f ± %.2f", mean, stderr) }
