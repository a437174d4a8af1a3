// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"

	"github.com/cotenant-dev/cotenant/api"
)

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
			return api.Errorf(api.Unavailable, "MPS daemon %s does not serve yet: %s", d.id, st.Why)
		}
	}
}

func (d *daemon) isOver() bool {
	_, _, over := d.look()
	return over != nil
}
