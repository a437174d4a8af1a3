// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// Ensure returns nil when the daemon serves with these settings; see
// mps.Client.Ensure.
func (s *Supervisor) Ensure(ctx context.Context, id string, want mps.Settings) error {
	for {
		d, err := s.wanted(id, want)
		if err == nil {
			err = d.await(ctx)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
}

// wanted returns the daemon, which is started if there is none.
func (s *Supervisor) wanted(id string, want mps.Settings) (*daemon, error) {
	d, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return s.begin(id, want)
	}
	if d.isStuck() {
		// What could not be done away with may be wanted again, in whatever way.
		err := d.ask(askStart, want)
		if errors.Is(err, errOver) {
			err = errAgain
		}
		if err != nil {
			return nil, err
		}
	}
	if st, ending, _ := d.look(); !ending && !st.Settings.Equal(want) {
		return nil, api.Errorf(api.Invalid, "MPS daemon %s has other settings (%s); stop it first", id, difference(st.Settings, want))
	}
	return d, nil
}

func difference(have, want mps.Settings) string {
	return fmt.Sprintf("it has %+v, asked for was %+v", have, want)
}

// begin starts a daemon, unless another caller has.
func (s *Supervisor) begin(id string, want mps.Settings) (*daemon, error) {
	if why := s.unable(); why != "" {
		return nil, api.Errorf(api.Unavailable, "MPS daemon %s cannot be started: the supervisor %s", id, why)
	}
	d := s.daemon(id)
	d.settings = want
	d.shown = mps.State{Settings: want, Why: "start it"}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil, errShut
	}
	if other := s.daemons[id]; other != nil && !other.isOver() {
		return other, nil
	}
	s.launch(d, d.start)
	return d, nil
}

// find returns the daemon, or nil.
func (s *Supervisor) find(id string) (*daemon, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil, errShut
	}
	d := s.daemons[id]
	if d == nil || d.isOver() {
		return nil, nil
	}
	return d, nil
}

// Stop returns nil when there is nothing of the daemon any more; see
// mps.Client.Stop.
func (s *Supervisor) Stop(id string) error {
	d, err := s.find(id)
	if err != nil {
		return err
	}
	if d == nil {
		// Something of it may be there all the same.
		if d, err = s.bury(id); err != nil {
			return err
		}
	}
	err = d.ask(askStop, mps.Settings{})
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// bury returns a daemon of which nothing is known, for what may be left of it.
func (s *Supervisor) bury(id string) (*daemon, error) {
	d := s.daemon(id)
	d.leaving, d.idle = true, true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil, errShut
	}
	if other := s.daemons[id]; other != nil && !other.isOver() {
		return other, nil
	}
	s.launch(d, d.stuck)
	return d, nil
}

// errAgain says that a daemon that was being stopped is gone, and that the one
// that is asked for is another one.
var errAgain = errors.New("it is gone")

// await returns nil when the daemon serves, why when there is none any more, and
// how far it is when ctx ends.
func (d *daemon) await(ctx context.Context) error {
	_, late, _ := d.look()
	for {
		_, changed := d.board.now()
		st, ending, over := d.look()
		late = late && (ending || over != nil)
		switch {
		case over != nil && late:
			return errAgain
		case errors.Is(over, errOver):
			return api.Errorf(api.Canceled, "MPS daemon %s was stopped while it was waited for", d.id)
		case over != nil:
			return over
		case st.Ready && !ending:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return api.Errorf(api.Pending, "MPS daemon %s does not serve yet: %s", d.id, st.Why)
		}
	}
}

func (d *daemon) isOver() bool {
	_, _, over := d.look()
	return over != nil
}
