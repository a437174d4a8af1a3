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
	trace, err := p.run.specs.Trace(uid)
	if err != nil {
		// A file that cannot be read tells nothing; what it was about is somebody's
		// instance from now on. It must not stay for ever.
		trace = sharing.Trace{}
	}
	return sharing.Stray(uid, trace, p.devices()), true, nil
}

// strays are the holds on shared slots of claims whose records were lost.
func (p *pipeline) strays() ([]sharing.Hold, error) {
	uids, err := p.run.specs.List()
	if err != nil {
		return nil, err
	}
	var holds []sharing.Hold
	for _, uid := range uids {
		_, known, err := p.records.Claim(uid)
		if err != nil {
			return nil, err
		}
		if known {
			continue
		}
		trace, err := p.run.specs.Trace(uid)
		if err != nil {
			return nil, err // it may be one that still needs what is shared
		}
		holds = append(holds, trace.Holds(uid)...)
	}
	return holds, nil
}
