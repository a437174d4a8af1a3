// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/test/bench/figure"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	hundred := sample{}
	for i := range 100 {
		hundred = append(hundred, float64(100-i)) // descending: it has to sort
	}
	for _, c := range []struct {
		name string
		s    sample
		p    int
		want float64
	}{
		{"one value", sample{7}, 1, 7},
		{"one value, the last percent", sample{7}, 100, 7},
		{"the middle of an odd number", sample{3, 1, 2}, 50, 2},
		{"the lower middle of an even number", sample{4, 1, 3, 2}, 50, 2},
		{"no value between two ranks", sample{10, 20}, 51, 20},
		{"p50 of a hundred", hundred, 50, 50},
		{"p99 of a hundred", hundred, 99, 99},
		{"p100 of a hundred", hundred, 100, 100},
		{"p99 of less than a hundred is the most", hundred[:50], 99, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := append(sample(nil), c.s...)
			if got := c.s.percentile(c.p); got != c.want {
				t.Errorf("p%d of %v = %v, want %v", c.p, c.s, got, c.want)
			}
			if d := cmp.Diff(before, c.s); d != "" {
				t.Errorf("the sample was changed:\n%s", d)
			}
		})
	}
}

func TestOnlyWhatSucceededIsASample(t *testing.T) {
	var s sample
	if p := s.percentile(50); figure.AtMost("x", p, "ms", 8).OK {
		t.Errorf("nothing was measured, and the bar is met by %v", p)
	}
	why := errors.New("no")
	if err := s.take(func() error { return why }); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	if err := s.take(func() error { return nil }); err != nil {
		t.Error(err)
	}
	if len(s) != 1 || s[0] < 0 {
		t.Errorf("samples %v, want one", s)
	}
}

// ran is a run in which every bar is met, for tests to spoil.

func ran() measured {
	flat := func(v float64) sample { return sample{v, v, v} }
	at := func(level int, prepare float64) *rung {
		start := startTimes{socket: 50 * time.Millisecond, prepared: 100 * time.Millisecond, published: 900 * time.Millisecond}
		return &rung{level: level, prepare: flat(prepare), unprepare: flat(1), memory: memory{resident: 60e6, anonymous: 20e6},
			spent: usage{cpu: 9 * time.Millisecond, written: 60e3, dirtied: 90e3}, starts: []startTimes{start, start, start}}
	}
	return measured{
		floor:  &floor{get: flat(1), sync: flat(2)},
		rungs:  []*rung{at(0, 5), at(100, 5), at(1000, 5)},
		bursts: []*burst{{width: gpus, wall: flat(40)}, {width: fullNode, wall: flat(300)}},
		sharers: &sharers{alone: flat(10), beside: flat(12), first: flat(250), second: flat(15),
			slow: time.Minute, converged: 61 * time.Second, calls: 3},
	}
}

func TestWhichBarsAreMissed(t *testing.T) {
	const (
		p50    = "prepare p50, 1000 claims prepared"
		growth = "prepare p50, 1000 claims prepared over 0"
	)
	for _, c := range []struct {
		name  string
		spoil func(*measured)
		want  []string
	}{
		{"none", func(*measured) {}, nil},
		{"8 ms is enough on a fast disk", func(m *measured) { m.rungs[2].prepare = sample{6} }, nil},
		{"slow at a thousand", func(m *measured) { m.rungs[2].prepare = sample{9} }, []string{p50, growth}},
		{"1.6 times the floor on a slow disk", func(m *measured) {
			m.floor.sync = sample{19} // 20 in all: the bar is 32
			for _, r := range m.rungs {
				r.prepare = sample{32}
			}
		}, nil},
		{"more than that on a slow disk", func(m *measured) {
			m.floor.sync = sample{19}
			m.rungs[2].prepare = sample{32.1}
			m.rungs[0].prepare, m.rungs[1].prepare = sample{30}, sample{30}
		}, []string{p50}},
		{"a start that hangs is felt", func(m *measured) { m.sharers.beside = sample{12.1} }, []string{"p99 beside a start that hangs, over alone"}},
		{"shares are slow", func(m *measured) { m.sharers.first, m.sharers.second = sample{501}, sample{31} }, []string{"first share of a GPU, p50", "second share of a GPU, p50"}},
		{"a slow start is begun anew", func(m *measured) { m.sharers.converged = 66 * time.Second }, []string{"MPS start of 1m0s, until it is prepared after 3 calls"}},
		{"growing below 8 ms", func(m *measured) { m.rungs[2].prepare = sample{6.1} }, []string{growth}},
		{"one of 110 failed", func(m *measured) { m.bursts[1].failed = 1 }, []string{"110 prepares at once, failed of 330"}},
		{"a rate limit that only later bursts feel", func(m *measured) { m.bursts[1].wall = sample{300, 900, 2000} },
			[]string{"110 prepares at once, per claim over all repetitions"}},
		{"slow to publish, once", func(m *measured) { m.rungs[0].starts[1].published = time.Minute }, nil},
		{"slow to publish", func(m *measured) {
			m.rungs[0].starts[0].published, m.rungs[0].starts[1].published = 3*time.Second, 3*time.Second
		}, []string{"start to slices published, 0 claims prepared"}},
		{"slow to its first claim", func(m *measured) {
			m.rungs[2].starts = []startTimes{{prepared: 501 * time.Millisecond, published: time.Second}}
		}, []string{"start to first claim prepared, 1000 claims prepared"}},
		{"fat", func(m *measured) { m.rungs[1].memory.resident = 80.1e6 }, []string{"resident memory, 100 claims prepared"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := ran()
			c.spoil(&m)
			if d := cmp.Diff(c.want, report{Rows: rows(m)}.missed()); d != "" {
				t.Errorf("missed (-want +got):\n%s", d)
			}
		})
	}
}

func TestNamesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows(ran()) {
		if seen[r.Name] {
			t.Errorf("two figures are called %q", r.Name)
		}
		seen[r.Name] = true
	}
}

func TestReport(t *testing.T) {
	r := report{
		Machine: &machine{cpus: 2, kernel: "6.1", fileSystem: "ext4", before: "0.1 0.2 0.3", after: "1 1 1", kubernetes: "v1.37.2", took: 90 * time.Second},
		Effort:  effortFor(false),
		Rows: []figure.Row{
			figure.Plain("floor", 2.5, "ms"),
			figure.AtMost("prepare", 5, "ms", 8),
			figure.AtMost("burst", 1234.5, "ms", 1000),
		},
	}
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(out.String(), "\n\n")
	for _, fact := range []string{"2 CPUs", "0.1 0.2 0.3 before", "1 1 1 after", "Linux 6.1", "ext4", "v1.37.2", "1m30s", "300 pairs"} {
		if !strings.Contains(head, fact) {
			t.Errorf("the header does not say %q:\n%s", fact, head)
		}
	}
	const want = `floor    2.50  ms
prepare  5     ms  <= 8     ok
burst    1234  ms  <= 1000  MISSED

1 missed: burst
`
	if d := cmp.Diff(want, body); d != "" {
		t.Errorf("table (-want +got):\n%s", d)
	}
	r.Rows = r.Rows[:2]
	out.Reset()
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	if !r.ok() || !strings.HasSuffix(out.String(), "\nevery bar is met\n") {
		t.Errorf("ok %v, it ends:\n%s", r.ok(), out.String())
	}
}

func TestSavedFigures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new/bench.json")
	r := report{Rows: []figure.Row{figure.Plain("floor", 2.50049, "ms"), figure.AtMost("prepare", 9, "ms", 8)}}
	if err := r.save(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"name": "floor", "value": 2.5, "unit": "ms", "bar": nil, "ok": true},
		{"name": "prepare", "value": 9.0, "unit": "ms", "bar": 8.0, "ok": false},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("figures (-want +got):\n%s", d)
	}
}

// The figures of a process are those of this one, which does what is looked for.

// All are let go together: each waits here for all others.

// A process that was told to end is no error; one that ended by itself is, and

// so is one that ends badly.

// signalling is a writer that tells of its first write.
