// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// Pause ends all daemons until Resume.
func (s *Supervisor) Pause(why string) error {
	if err := s.records.pause(why); err != nil {
		return err
	}
	return s.askAll(askPause)
}

// Resume starts the daemons that are wanted.
func (s *Supervisor) Resume() error {
	if err := s.records.pause(""); err != nil {
		return err
	}
	return s.askAll(askResume)
}

func (s *Supervisor) askAll(k kind) error {
	s.mu.Lock()
	var asked []*daemon
	for _, d := range s.daemons {
		asked = append(asked, d)
	}
	s.mu.Unlock()
	answers := make(chan error, len(asked))
	for _, d := range asked {
		go func() { answers <- d.ask(k, mps.Settings{}) }()
	}
	var errs []error
	for range asked {
		if err := <-answers; err != nil && !errors.Is(err, errOver) {
			errs = append(errs, err)
		}
	}
	s.board.bump()
	return errors.Join(errs...)
}
