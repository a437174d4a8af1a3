// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"math"
	"os"
	"slices"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// watch ends what the machine has ended.
func (s *server) watch() {
	for {
		var missing []sim.Process
		_, err := s.m.Watch(math.MaxInt64, func(st *sim.State) bool {
			missing = s.self.Missing(st)
			return len(missing) > 0
		})
		if err != nil {
			s.log.printf("the machine is gone: %v", err)
			os.Exit(1)
		}
		s.mu.Lock()
		for _, p := range missing {
			s.miss(p)
		}
		s.mu.Unlock()
	}
}

// miss deals with a context that the machine has ended. Without one of its own a
// server can do nothing.
func (s *server) miss(p sim.Process) {
	if own(p) {
		s.log.printf("lost device %s", p.UUID)
		os.Exit(1)
	}
	for _, c := range s.clients {
		if slices.Contains(c.contexts, p.Context) {
			s.terminate(c)
		}
	}
}

// orphaned notes that the daemon has ended. The clients go on; that real ones may
// is not confirmed.
func (s *server) orphaned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orphan = true
	s.finishIfIdle()
}

// finishIfIdle ends the server when nobody needs it any more. The lock is held.
func (s *server) finishIfIdle() {
	if s.orphan && len(s.clients) == 0 {
		s.finish()
	}
}

func (s *server) finish() {
	if !s.ending {
		s.ending = true
		close(s.finished)
	}
}
