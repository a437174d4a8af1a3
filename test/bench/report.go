// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cotenant-dev/cotenant/test/bench/figure"
)

// report is what a run says in the end.
type report struct {
	Machine *machine
	Effort  effort
	Rows    []figure.Row
}

// ok says whether every bar was met.
func (r report) ok() bool { return len(r.missed()) == 0 }

func (r report) missed() []string {
	var names []string
	for _, row := range r.Rows {
		if !row.OK {
			names = append(names, row.Name)
		}
	}
	return names
}

// save writes the rows as JSON, a list.
func (r report) save(path string) error {
	raw, err := json.MarshalIndent(r.Rows, "", "  ")
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// print writes the report for people.
func (r report) print(out io.Writer) error {
	m := r.Machine
	fmt.Fprintf(out, `cotenant-plugin on %d CPUs, load average %s before and %s after, Linux %s, journal on %s, Kubernetes %s, %s
%d simulated %s a node, one node and plugin for each number of prepared claims; the bench is scheduler and kubelet.
%d pairs a level, the levels and the floor in turn; percentiles by nearest rank; %d bursts and %d starts, their median.

`, m.cpus, m.before, m.after, m.kernel, m.fileSystem, m.kubernetes, m.took.Round(time.Second),
		gpus, product, r.Effort.pairs, r.Effort.bursts, r.Effort.starts)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range r.Rows {
		fmt.Fprintln(table, row.String())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	missed := r.missed()
	if len(missed) == 0 {
		_, err := fmt.Fprintln(out, "\nevery bar is met")
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d missed: %s\n", len(missed), strings.Join(missed, "; "))
	return err
}
