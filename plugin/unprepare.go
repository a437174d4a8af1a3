// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"

	"github.com/cotenant-dev/cotenant/sharing"
)

// unprepare takes back what the claim got. It reads the record and nothing else:
// no API server, no configuration. It succeeds for a claim it never saw.
func (p *pipeline) unprepare(ctx context.Context, uid string) error {
	// 1 recall
	rec, known, err := p.records.Claim(uid)
	if err != nil {
		return err
	}
	recorded := known
	if !known {
		rec, known, err = p.stray(uid)
		if err != nil || !known {
			return err
		}
	}
	// 2 intend: from here on the claim is being released, whatever happens
	if !recorded || rec.State != sharing.Releasing {
		rec.State = sharing.Releasing
		if err := p.records.Put(rec); err != nil {
			return fmt.Errorf("record the release: %w", err)
		}
	}
	// 3 run backwards, 4 forget
	return p.settle(ctx, rec)
}

// stray is the record of a claim that was prepared and whose record was lost
// with its journal: what is left of it in the world is a spec file, and what that
// tells.
func (p *pipeline) stray(uid string) (sharing.Record, bool, error) {
	uids, err := p.run.specs.List()
	if err != nil {
		return sharing.Record{}, false, err
	}
	if !slices.Contains(uids, uid) {
		return sharing.Record{}, false, nil
	}
	made, err := p.run.specs.Made(uid)
	if err != nil {
		// A file that cannot be read tells nothing; what it was about is somebody's
		// instance from now on. It must not stay for ever.
		made = nil
	}
	return sharing.Stray(uid, made, p.devices()), true, nil
}
