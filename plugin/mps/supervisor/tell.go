// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"time"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// Hello says who this is.
func (s *Supervisor) Hello() mps.Hello {
	unable := s.unable()
	return mps.Hello{
		Version: s.cfg.Version, Protocol: mps.Protocol, Instance: s.board.instance, MultiUser: unable == "", Root: s.cfg.HostRoot,
		Unable: unable, DriverVersion: driverVersion(s.cfg.DriverRoot), Notes: s.notes,
	}
}

// List returns what there is to tell once the revision is not the one that is
// known, or when ctx ends.
func (s *Supervisor) List(ctx context.Context, known string) mps.List {
	for {
		revision, changed := s.board.now()
		if revision != known || ctx.Err() != nil {
			return mps.List{Revision: revision, Hello: s.Hello(), Daemons: s.states()}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (s *Supervisor) states() map[string]mps.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]mps.State{}
	for id, d := range s.daemons {
		if st, _, over := d.look(); over == nil {
			out[id] = st
		}
	}
	return out
}

// ability is how often is looked whether what keeps daemons from running is gone.
const ability = 5 * time.Second

func (s *Supervisor) watchAbility(ctx context.Context) {
	was := s.unable()
	tick := time.NewTicker(ability)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.unable(); now != was {
			was = now
			s.board.bump()
		}
	}
}
