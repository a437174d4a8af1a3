// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"time"

	"github.com/cotenant-dev/cotenant/test/bench/placement"
)

// options are what the command line says.
type options struct {
	out    string
	effort effort
	// progress gets a line for each stage, tools what programs print, table the
	// result.
	progress, tools, table io.Writer
}

// effort says how much is measured.
type effort struct {
	levels []int // numbers of claims already prepared, ascending, from 0
	pairs  int   // prepares with their unprepares at each level
	bursts int   // repetitions of each burst
	starts int   // starts at the lowest and at the highest level
	// slowStart is how long the MPS daemon takes to start that takes long.
	slowStart time.Duration

	placement placement.Effort
}

// effortFor returns the full effort or a quick one. The levels are the same: a
// plugin that slows down with its journal must not pass a quick run either.
func effortFor(quick bool) effort {
	levels := []int{0, 100, 1000}
	if quick {
		return effort{levels: levels, pairs: 24, bursts: 2, starts: 3, slowStart: 2 * time.Second, placement: placement.Quick()}
	}
	return effort{levels: levels, pairs: 300, bursts: 5, starts: 7, slowStart: time.Minute, placement: placement.Full()}
}
