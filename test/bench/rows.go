// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/cotenant-dev/cotenant/test/bench/figure"
)

// The bars. A value meets one when it is not above it.
const (
	prepareBar     = 8.0    // ms at p50, at every level …
	overFloor      = 1.6    // … or this many times the floor, whichever is more
	growthBar      = 1.2    // p50 at the highest level over p50 at the lowest
	fullNodeBar    = 1000.0 // ms until the last of a full node's claims
	publishedBar   = 2000.0 // ms from the start of the process
	firstBar       = 500.0  // ms from the start to a claim prepared, at the highest level
	residentBar    = 80.0   // MB of 10^6 bytes
	besideBar      = 1.2    // p99 of prepares beside a start that hangs over alone
	firstShareBar  = 500.0  // ms, of a daemon that starts at once
	secondShareBar = 30.0   // ms
	slowStartBar   = 5.0    // s above the daemon's own time

	noneFailed    = 0.0
	msPerClaimBar = fullNodeBar / fullNode // see rateRow
)

// measured is all that a run found out.
type measured struct {
	floor  *floor
	rungs  []*rung
	bursts []*burst

	sharers *sharers
}

// rows turns the measurements into figures.
func rows(m measured) []figure.Row {
	out := []figure.Row{
		figure.Plain("floor: GET of a claim, p50", m.floor.get.percentile(50), "ms"),
		figure.Plain("floor: two small writes to disk, p50", m.floor.sync.percentile(50), "ms"),
		figure.Plain("floor of a prepare", m.floor.p50(), "ms"),
	}
	lowest, highest := m.rungs[0], m.rungs[len(m.rungs)-1]
	for _, r := range m.rungs {
		out = append(out, latencies(r, max(prepareBar, overFloor*m.floor.p50()))...)
	}
	growth := highest.prepare.percentile(50) / lowest.prepare.percentile(50)
	out = append(out, figure.AtMost(fmt.Sprintf("prepare p50, %s over %d", with(highest.level), lowest.level), growth, "times", growthBar))
	for _, r := range m.rungs {
		out = append(out, costs(r)...)
	}
	for _, b := range m.bursts {
		out = append(out, together(b)...)
	}
	out = append(append(out, startRows(lowest)...), startRows(highest)...)
	return append(out, sharerRows(m.sharers)...)
}

// sharerRows are those of MPS. The ratio of the two p99 is of one run, in turns.
func sharerRows(m *sharers) []figure.Row {
	alone, beside := m.alone.percentile(99), m.beside.percentile(99)
	return []figure.Row{
		figure.Plain("prepare p99 on GPU 1", alone, "ms"),
		figure.Plain("prepare p99 on GPU 1, MPS start on GPU 0 hangs", beside, "ms"),
		figure.AtMost("p99 beside a start that hangs, over alone", beside/alone, "times", besideBar),
		figure.AtMost("first share of a GPU, p50", m.first.percentile(50), "ms", firstShareBar),
		figure.Plain("first share of a GPU, the slowest", m.first.percentile(100), "ms"),
		figure.AtMost("second share of a GPU, p50", m.second.percentile(50), "ms", secondShareBar),
		figure.Plain("second share of a GPU, the slowest", m.second.percentile(100), "ms"),
		figure.AtMost(fmt.Sprintf("MPS start of %s, until it is prepared after %d calls", m.slow, m.calls), m.converged.Seconds(), "s", m.slow.Seconds()+slowStartBar),
	}
}

func with(level int) string { return fmt.Sprintf("%d claims prepared", level) }

func latencies(r *rung, bar float64) []figure.Row {
	at := ", " + with(r.level)
	return []figure.Row{
		figure.AtMost("prepare p50"+at, r.prepare.percentile(50), "ms", bar),
		figure.Plain("prepare p99"+at, r.prepare.percentile(99), "ms"),
		figure.Plain("unprepare p50"+at, r.unprepare.percentile(50), "ms"),
		figure.Plain("unprepare p99"+at, r.unprepare.percentile(99), "ms"),
	}
}

// costs are the memory, and what a pair of a prepare and an unprepare takes.
func costs(r *rung) []figure.Row {
	at, pairs := ", "+with(r.level), float64(len(r.prepare))
	return []figure.Row{
		figure.AtMost("resident memory"+at, float64(r.memory.resident)/1e6, "MB", residentBar),
		figure.Plain("resident memory that is anonymous"+at, float64(r.memory.anonymous)/1e6, "MB"),
		figure.Plain("CPU per pair"+at, milliseconds(r.spent.cpu)/pairs, "ms"),
		figure.Plain("bytes written per pair (wchar)"+at, float64(r.spent.written)/pairs/1e3, "kB"),
		figure.Plain("bytes to storage per pair (write_bytes)"+at, float64(r.spent.dirtied)/pairs/1e3, "kB"),
	}
}

func together(b *burst) []figure.Row {
	name := fmt.Sprintf("%d prepares at once", b.width)
	failed := figure.AtMost(fmt.Sprintf("%s, failed of %d", name, b.claims()), float64(b.failed), "claims", noneFailed)
	if b.width < fullNode {
		return []figure.Row{figure.Plain(name+", until the last", b.wall.percentile(50), "ms"), failed}
	}
	return []figure.Row{figure.AtMost(name+", until the last", b.wall.percentile(50), "ms", fullNodeBar), failed, rateRow(name, b)}
}

// rateRow shows whether the plugin's client is limited. Each prepare is a request
// to the API server, and the bursts follow each other closely, so a limit is felt
// once its burst is used up: 5 requests a second, client-go's default, are 200 ms
// a claim, and 50 a second are 20.
func rateRow(name string, b *burst) figure.Row {
	return figure.AtMost(name+", per claim over all repetitions", b.wall.sum()/float64(b.claims()), "ms", msPerClaimBar)
}

func startRows(r *rung) []figure.Row {
	at := ", " + with(r.level)
	median := func(of func(startTimes) time.Duration) float64 {
		var s sample
		for _, t := range r.starts {
			s.add(of(t))
		}
		return s.percentile(50)
	}
	first := median(func(t startTimes) time.Duration { return t.prepared })
	out := []figure.Row{
		figure.Plain("start to socket"+at, median(func(t startTimes) time.Duration { return t.socket }), "ms"),
		figure.Plain("start to first claim prepared"+at, first, "ms"),
		figure.AtMost("start to slices published"+at, median(func(t startTimes) time.Duration { return t.published }), "ms", publishedBar),
	}
	if r.level > 0 {
		out[1] = figure.AtMost(out[1].Name, first, "ms", firstBar)
	}
	return out
}
