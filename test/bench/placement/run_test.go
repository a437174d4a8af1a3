// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestARunReportsEveryBar(t *testing.T) {
	var out strings.Builder
	rows, err := Run(t.Context(), &out, Effort{Seeds: 2, Claims: 300, Proof: 10, Rounds: 3, Copies: 1})
	if err != nil {
		t.Fatal(err)
	}
	bars := 0
	for _, r := range rows {
		if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
			t.Errorf("%s is %v", r.Name, r.Value)
		}
		if r.Bar != nil {
			bars++
			if met := r.Value <= *r.Bar && !r.Least || r.Value >= *r.Bar && r.Least; r.OK != met {
				t.Errorf("%s is %v, with the bar at %v: %t", r.Name, r.Value, *r.Bar, r.OK)
			}
		}
	}
	if want := 1 + len(settings()) + 4; bars != want {
		t.Errorf("%d bars, want %d", bars, want)
	}
	for _, want := range []string{"general, load 0.85", "inference, load 1.00", "general, load 0.85, at random", bestOf + " over " + bySpace, "full node"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, io.Discard, Quick()); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestTheFirstJobThatFailsIsTheError(t *testing.T) {
	bad := errors.New("bad")
	jobs := []func() error{func() error { return nil }, func() error { return bad }, func() error { return nil }}
	if err := inParallel(t.Context(), jobs); !errors.Is(err, bad) {
		t.Errorf("error is %v", err)
	}
	if err := inParallel(t.Context(), jobs[:1]); err != nil {
		t.Errorf("error is %v", err)
	}
}

func TestADifferenceComesWithItsStandardError(t *testing.T) {
	r := result{layouts: map[string][]outcome{
		"a": {{memory: 0.70}, {memory: 0.72}, {memory: 0.74}},
		"b": {{memory: 0.69}, {memory: 0.70}, {memory: 0.71}},
	}}
	// The seeds differ by 1, 2 and 3 points: a mean of 2, a deviation of 1.
	mean, stderr := r.over("a", "b", held)
	if math.Abs(mean-2) > 1e-9 || math.Abs(stderr-1/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%v ± %v, want 2 ± %v", mean, stderr, 1/math.Sqrt(3))
	}
}
