// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package timeslice

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
)

// driver is a driver root with an nvidia-smi that does what a script says, and
// writes down how it was called.
type driver struct {
	*Intervals
	t    *testing.T
	root string
	load string
}

func newDriver(t *testing.T, script string) *driver {
	t.Helper()
	d := &driver{t: t, root: t.TempDir(), load: "1"}
	d.Intervals = New(d.root, func() string { return d.load })
	d.does(script)
	return d
}

func (d *driver) does(script string) {
	d.t.Helper()
	bin := filepath.Join(d.root, "usr/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		d.t.Fatal(err)
	}
	text := "#!/bin/sh\necho \"$*\" >>" + filepath.Join(d.root, "calls") + "\n" + script + "\n"
	// Under another name first: a program that runs cannot be written to.
	tmp := filepath.Join(bin, "new")
	if err := os.WriteFile(tmp, []byte(text), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(bin, "nvidia-smi")); err != nil {
		d.t.Fatal(err)
	}
}

// calls returns how nvidia-smi was called since the last time.
func (d *driver) calls() string {
	d.t.Helper()
	raw, _ := os.ReadFile(filepath.Join(d.root, "calls"))
	_ = os.Remove(filepath.Join(d.root, "calls"))
	return strings.ReplaceAll(strings.TrimSpace(string(raw)), "\n", "; ")
}

func (d *driver) called(want string) {
	d.t.Helper()
	if got := d.calls(); got != want {
		d.t.Errorf("nvidia-smi was called %q, want %q", got, want)
	}
}

const read, set = "compute-policy -i GPU-1 -l", "compute-policy -i GPU-1 --set-timeslice "

// The words of a driver that lists its policies, of one that has none, and of ones
// that nobody has seen yet.
func TestWords(t *testing.T) {
	for said, want := range map[string]nvidia.Interval{
		"|   0     timeslice        Default    |":    nvidia.Default,
		"|   0     timeslice        Short      |":    nvidia.Short,
		"GPU 0: Time-Slice : MEDIUM":                 nvidia.Medium,
		"TimeSlice=long":                             nvidia.Long,
		"Time Slice\t->\tlong":                       nvidia.Long,
		"|   0     timeslice        [N/A]      |":    "",
		"|   0     timeslice        Not Supported |": "",
		"":                               nvidia.Default,
		"No compute policies":            nvidia.Default,
		"timeslice\nlong":                nvidia.Default, // not on one line: who knows whose it is
		"timeslice longest":              nvidia.Default,
		"a timeslice of 2 ms is Default": nvidia.Default,
		strings.Repeat("x", 1<<20) + "\n| timeslice | Short |\n\xff": nvidia.Short,
	} {
		got, err := interval(said)
		if got != want || (err != nil) != (want == "") || err != nil && api.ReasonOf(err) != api.Unsupported {
			t.Errorf("%.60q: %q, %v; want %q", said, got, err, want)
		}
	}
}

// It is set by its number, and not again when it is that already; another value, a
// value that was read meanwhile, and another load of the driver are.
func TestSetWhenItIsAnother(t *testing.T) {
	d := newDriver(t, "true")
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, interval := range []nvidia.Interval{nvidia.Default, nvidia.Short, nvidia.Medium, nvidia.Long} {
		ok(d.SetInterval(t.Context(), "GPU-1", interval))
		d.called(set + fmt.Sprint(i))
		ok(d.SetInterval(t.Context(), "GPU-1", interval))
		d.called("")
	}
	ok(d.SetInterval(t.Context(), "GPU-2", nvidia.Long))
	d.called("compute-policy -i GPU-2 --set-timeslice 3")
	d.does("echo '| 0 timeslice Short |'")
	got, err := d.Interval(t.Context(), "GPU-1")
	ok(err)
	if got != nvidia.Short {
		t.Errorf("read %s", got)
	}
	ok(d.SetInterval(t.Context(), "GPU-1", nvidia.Long)) // somebody had changed it
	d.called(read + "; " + set + "3")
	d.load = "2"
	ok(d.SetInterval(t.Context(), "GPU-1", nvidia.Long))
	d.called(set + "3")
}

// What fails is tried again, and says what nvidia-smi said, not more than a line.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		reason api.Reason
		says   string
	}{
		"not supported":    {"echo 'Setting timeslice: Not Supported' >&2; exit 3", api.Unsupported, "Not Supported"},
		"no right":         {"printf 'Insufficient\\n  Permissions\\n' >&2; exit 4", "", "exit status 4: Insufficient Permissions"},
		"no end of words":  {"head -c 100000 /dev/zero | tr '\\0' x; exit 1", "", "xxx…"},
		"killed by itself": {"kill -9 $$", "", "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, c.script)
			err := d.SetInterval(t.Context(), "GPU-1", nvidia.Long)
			if err == nil || api.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 600 {
				t.Fatalf("reason %q: %v", api.ReasonOf(err), err)
			}
			d.calls()
			d.does("true")
			if err := d.SetInterval(t.Context(), "GPU-1", nvidia.Long); err != nil {
				t.Error(err)
			}
			d.called(set + "3")
		})
	}
	d := newDriver(t, "true")
	if err := os.RemoveAll(filepath.Join(d.root, "usr")); err != nil {
		t.Fatal(err)
	}
	if err := d.SetInterval(t.Context(), "GPU-1", nvidia.Long); err == nil || !strings.Contains(err.Error(), "there is no nvidia-smi below "+d.root) {
		t.Errorf("without a driver: %v", err)
	}
}

// Whether there is an interval is asked once for each load, and not at every look
// when that fails.
func TestSupports(t *testing.T) {
	d := newDriver(t, "echo '| 0 timeslice [N/A] |'")
	for range 3 {
		if err := d.Supports(t.Context(), "GPU-1"); api.ReasonOf(err) != api.Unsupported {
			t.Errorf("%v", err)
		}
	}
	d.called(read)
	d.load = "2"
	d.does("echo '| 0 timeslice Short |'")
	for range 3 {
		if err := d.Supports(t.Context(), "GPU-1"); err != nil {
			t.Error(err)
		}
	}
	d.called(read)
	d.load = "3"
	d.does("exit 1")
	if err := d.Supports(t.Context(), "GPU-1"); err == nil || api.ReasonOf(err) == api.Unsupported {
		t.Errorf("a question that failed: %v", err)
	}
	for range 3 {
		if err := d.Supports(t.Context(), "GPU-1"); err != nil {
			t.Errorf("what is not known counts as possible: %v", err)
		}
	}
	d.called(read)
}

// Who waits no longer does not wait for the program.
func TestCanceled(t *testing.T) {
	d := newDriver(t, "sleep 60 & wait")
	ctx, cancel := contextWithCancelSoon(t)
	defer cancel()
	if _, err := d.Interval(ctx, "GPU-1"); err == nil {
		t.Error("a program that hangs has an answer")
	}
}

func FuzzWords(f *testing.F) {
	f.Add("| 0 timeslice Default |")
	f.Add("time-slice: long\ntimeslice n/a")
	f.Fuzz(func(t *testing.T, said string) {
		got, err := interval(said)
		known := got == nvidia.Default || got.Level() > 0
		if known == (err != nil) {
			t.Errorf("%q: %q, %v", said, got, err)
		}
		if b := brief(said); len(b) > maxSaid+len("…") || strings.ContainsAny(b, "\n\r") {
			t.Errorf("%q is shown as %q", said, b)
		}
	})
}

func contextWithCancelSoon(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 50*time.Millisecond)
}
