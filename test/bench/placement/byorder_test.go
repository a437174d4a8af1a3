// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"strings"
	"testing"
)

func TestTheAllocatorTakesTheFirstPublishedDeviceThatFits(t *testing.T) {
	tb := newTestTable(t)
	if err := newTestNodes(t, tb).prove(t.Context(), tb, 40); err != nil {
		t.Error(err)
	}
}

func TestAWitnessTellsWhenTheOrderIsNotThatOfTheAllocator(t *testing.T) {
	tb := newTestTable(t)
	n := newTestNodes(t, tb)
	w := witness{n.ours(tb), newByOrder(tb, n.our)}
	small := tb.id(t, "1g.10gb")
	slices.Reverse(w.model.order[small])
	_, _, err := w.place(t.Context(), small)
	if err == nil || !strings.Contains(err.Error(), "the first that fits is") {
		t.Errorf("error is %v", err)
	}
}

func TestAPartitionGoesWhereTheLargeStayPossible(t *testing.T) {
	tb := newTestTable(t)
	n := newTestNodes(t, tb)
	tests := []struct {
		name string
		asks []string
		ours []slot
	}{
		{"one small", []string{"1g.10gb"}, []slot{tb.at(t, 0, "1g.10gb", 6)}},
		{"3g and 4g", []string{"3g.40gb", "4g.40gb"}, []slot{tb.at(t, 0, "3g.40gb", 4), tb.at(t, 0, "4g.40gb", 0)}},
		{"small ones leave room for 4g", []string{"1g.10gb", "2g.20gb", "4g.40gb"},
			[]slot{tb.at(t, 0, "1g.10gb", 6), tb.at(t, 0, "2g.20gb", 4), tb.at(t, 0, "4g.40gb", 0)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := n.ours(tb)
			for i, ask := range tt.asks {
				got, ok, err := s.place(t.Context(), tb.id(t, ask))
				if err != nil || !ok || got != tt.ours[i] {
					t.Errorf("%s went to %+v, %t, %v; want %+v", ask, got, ok, err, tt.ours[i])
				}
			}
		})
	}
}

// The order of names breaks the only half that a 4g can have.
func TestTheOrderOfNamesLosesTheRoomFor4g(t *testing.T) {
	tb := newTestTable(t)
	s := newTestNodes(t, tb).upstream(tb)
	if got, ok, err := s.place(t.Context(), tb.id(t, "1g.10gb")); err != nil || !ok || got != tb.at(t, 0, "1g.10gb", 0) {
		t.Errorf("1g went to %+v, %t, %v", got, ok, err)
	}
	if got, ok, err := s.place(t.Context(), tb.id(t, "4g.40gb")); err != nil || !ok || got != tb.at(t, 1, "4g.40gb", 0) {
		t.Errorf("4g went to %+v, %t, %v", got, ok, err)
	}
}

func TestBestFitLooksAtAllGPUsBeforeItBreaksAHalf(t *testing.T) {
	tb := newTestTable(t)
	b := newBoard(tb, 2)
	for _, s := range []slot{tb.at(t, 0, "3g.40gb", 4), tb.at(t, 1, "2g.20gb", 4)} {
		if err := b.put(s); err != nil {
			t.Fatal(err)
		}
	}
	got, ok, err := bestFit{b}.place(t.Context(), tb.id(t, "1g.10gb"))
	if want := tb.at(t, 1, "1g.10gb", 6); err != nil || !ok || got != want {
		t.Errorf("1g went to %+v, %t, %v; want %+v", got, ok, err, want)
	}
}
