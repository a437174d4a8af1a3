// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// watchPoll is how soon a waiter sees a change that another process made. The
// directory may be a bind mount in another container, where notification by
// the kernel does not reach everywhere, and file times are too coarse to tell
// two quick writes apart: so the state itself is read.
const watchPoll = 10 * time.Millisecond

// Watch waits until done accepts the state, at most for timeout. The result is
// done's last answer.
func (m *Machine) Watch(timeout time.Duration, done func(*State) bool) (bool, error) {
	deadline := time.Now().Add(timeout)
	for {
		ok := false
		if err := m.view(func(s *State) error { ok = done(s); return nil }); err != nil || ok {
			return ok, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		time.Sleep(min(left, watchPoll))
	}
}
