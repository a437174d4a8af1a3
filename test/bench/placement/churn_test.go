// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"
)

// scripted hands out slots in a fixed order.
type scripted struct{ slots []slot }

func (s *scripted) place(context.Context, int) (slot, bool, error) {
	if len(s.slots) == 0 {
		return slot{}, false, nil
	}
	next := s.slots[0]
	s.slots = s.slots[1:]
	return next, true, nil
}

func (s *scripted) release(slot) {}

// recording notes who held what, and when, beside the packer that it asks.
type recording struct {
	packer
	held []slot
	// together is what was held at once with each slot that was handed out.
	together [][2]slot
}

func (r *recording) place(ctx context.Context, profile int) (slot, bool, error) {
	s, ok, err := r.packer.place(ctx, profile)
	if ok {
		for _, h := range r.held {
			r.together = append(r.together, [2]slot{h, s})
		}
		r.held = append(r.held, s)
	}
	return s, ok, err
}

func (r *recording) release(s slot) {
	r.packer.release(s)
	for i, h := range r.held {
		if h == s {
			r.held = append(r.held[:i], r.held[i+1:]...)
			return
		}
	}
}

func TestMemoryHeldIsCountedFromTheWarmUpToTheLastClaim(t *testing.T) {
	tb := newTestTable(t)
	whole, third := tb.id(t, "7g.80gb"), tb.id(t, "3g.40gb")
	claims := []claim{
		{profile: whole, at: 1, stays: 5}, // until 6: one unit of time counts
		{profile: third, at: 7, stays: 2}, // until 9
		{profile: whole, at: 8, stays: 9}, // the last two units of time count
		{profile: third, at: 9.5, stays: 1},
		{profile: whole, at: 10, stays: 1}, // finds none
	}
	o, err := churn(t.Context(), tb, 2, claims, bestFit{newBoard(tb, 2)})
	if err != nil {
		t.Fatal(err)
	}
	want := (1 + 2.5*tb.memory(third) + 2) / (2 * (10 - warmUp))
	if math.Abs(o.memory-want) > 1e-12 {
		t.Errorf("memory held is %v, want %v", o.memory, want)
	}
	counted := outcome{offered: map[int]int{whole: 2, third: 2}, accepted: map[int]int{whole: 1, third: 2}, memory: o.memory}
	if !reflect.DeepEqual(o, counted) {
		t.Errorf("counted %+v, want %+v", o, counted)
	}
}

func TestASeedGivesTheSameFiguresAgain(t *testing.T) {
	tb := newTestTable(t)
	n := newTestNodes(t, tb)
	for _, c := range n.contenders(tb) {
		t.Run(c.layout, func(t *testing.T) {
			run := func(seed int) outcome {
				o, err := once(t.Context(), tb, settings()[0], c, seed, 500)
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			if a, b := run(1), run(1); !reflect.DeepEqual(a, b) {
				t.Errorf("seed 1 gave %+v and then %+v", a, b)
			}
			if a, b := run(1), run(2); reflect.DeepEqual(a, b) {
				t.Errorf("seeds 1 and 2 both gave %+v", a)
			}
		})
	}
}

func TestNothingThatOverlapsIsHandedOut(t *testing.T) {
	tb := newTestTable(t)
	n := newTestNodes(t, tb)
	for _, c := range n.contenders(tb) {
		for _, s := range settings() {
			t.Run(c.layout+", "+s.String(), func(t *testing.T) {
				claims, err := demand(s, tb, gpus, 7, 500)
				if err != nil {
					t.Fatal(err)
				}
				r := &recording{packer: c.packer()}
				o, err := churn(t.Context(), tb, gpus, claims, r)
				if err != nil {
					t.Fatal(err)
				}
				for _, pair := range r.together {
					if overlapping(pair[0], pair[1]) {
						t.Fatalf("%+v and %+v were held at once", pair[0], pair[1])
					}
				}
				if o.memory <= 0 || o.memory > 1 {
					t.Errorf("%v of the memory was held", o.memory)
				}
			})
		}
	}
}

func TestAPackerThatErrsIsFoundOut(t *testing.T) {
	tb := newTestTable(t)
	small := tb.id(t, "1g.10gb")
	two := []claim{{profile: small, at: 6, stays: 5}, {profile: small, at: 7, stays: 5}}
	tests := []struct {
		name  string
		slots []slot
		want  string
	}{
		{"the same twice", []slot{tb.at(t, 0, "1g.10gb", 3), tb.at(t, 0, "1g.10gb", 3)}, "does not fit"},
		{"another profile", []slot{tb.at(t, 0, "2g.20gb", 0)}, "got an instance of profile 14"},
		{"turned away from an empty node", nil, "though there is room at 6 of GPU 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := churn(t.Context(), tb, 1, two, &scripted{slots: tt.slots})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want it to say %q", err, tt.want)
			}
		})
	}
}
