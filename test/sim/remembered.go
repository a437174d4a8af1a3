// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"

	"github.com/cotenant-dev/cotenant/test/sim/fsroot"
)

// remembered is what a handle keeps from one operation to the next. None of it
// is taken on trust: it is used only where the files still say the same, and it
// spares decoding a state and comparing a driver root that did not change.
type remembered struct {
	raw   []byte // of state.json
	state *State // what raw decodes to
	tree  fsroot.Stamped
}

// recall is the state that raw decodes to, when it is the one remembered.
func (m *Machine) recall(raw []byte) (*State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last.state == nil || string(m.last.raw) != string(raw) {
		return nil, false
	}
	return m.last.state.clone(), true
}

// remember keeps a state; it keeps a copy.
func (m *Machine) remember(raw []byte, s *State) {
	kept := s.clone()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last.raw, m.last.state = raw, kept
}

// advance notes that the driver root is to be rendered from tree next, and
// returns what this handle last rendered it from.
func (m *Machine) advance(tree fsroot.Stamped) (was fsroot.Stamped) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, m.last.tree = m.last.tree, tree
	return was
}

// clone is a state of which nothing is shared but what nobody writes to: the
// numbers that pointers lead to.
func (s *State) clone() *State {
	out := *s
	out.GPUs = slices.Clone(s.GPUs)
	for i := range out.GPUs {
		g := &out.GPUs[i]
		g.GIs = slices.Clone(g.GIs)
		for j := range g.GIs {
			g.GIs[j].CIs = slices.Clone(g.GIs[j].CIs)
		}
		g.Limits = slices.Clone(g.Limits)
	}
	out.Ended = slices.Clone(s.Ended)
	out.Processes, out.Lingering = slices.Clone(s.Processes), slices.Clone(s.Lingering)
	out.Events, out.Bin = slices.Clone(s.Events), slices.Clone(s.Bin)
	return &out
}
