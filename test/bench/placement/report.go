// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// report writes what was found for people.
func report(w io.Writer, t *table, results []result, costs []cost, e Effort) error {
	fmt.Fprintf(w, `placement on %d simulated %s: %d seeds of %d claims each, lost when there is no room; load is compute slices asked for over those there are.
Percent of the memory held and, by profile, of the claims accepted; differences with their standard error.
`,
		gpus, product, e.Seeds, e.Claims)
	for _, r := range results {
		fmt.Fprintf(w, "\n%s\n", r)
		if err := r.table(w, t); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\none claim through the allocator, median of %d by turns\n", e.Rounds)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range costs {
		fmt.Fprintf(out, "  %s\tours %s\tupstream %s\t%.2f times\n", c.what, microseconds(c.ours), microseconds(c.upstream), c.ratio)
	}
	fmt.Fprintln(out)
	return out.Flush()
}

func microseconds(d time.Duration) string { return d.Round(time.Microsecond).String() }

// table has a line for each layout and for what lies between them.
func (r result) table(w io.Writer, t *table) error {
	heads, figures := []string{"memory"}, []func(outcome) float64{held}
	for _, a := range r.mix.asks {
		id, err := profileNamed(t.geometry, a.profile)
		if err != nil {
			return err
		}
		heads, figures = append(heads, a.profile), append(figures, accepted(id))
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "  \t%s\n", strings.Join(heads, "\t"))
	line := func(name string, cell func(func(outcome) float64) string) {
		fmt.Fprintf(out, "  %s", name)
		for _, f := range figures {
			fmt.Fprintf(out, "\t%s", cell(f))
		}
		fmt.Fprintln(out)
	}
	for _, layout := range []string{byNames, bySpace, bestOf} {
		line(layout, func(f func(outcome) float64) string { return fmt.Sprintf("%.1f", r.mean(layout, f)) })
	}
	line(bySpace+" over "+byNames, func(f func(outcome) float64) string { return plusMinus(r.over(bySpace, byNames, f)) })
	line(bestOf+" over "+bySpace, func(f func(outcome) float64) string { return plusMinus(r.over(bestOf, bySpace, f)) })
	return out.Flush()
}
