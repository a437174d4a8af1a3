// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/cotenant-dev/cotenant/sharing"
)

// settle undoes what the record says and forgets the claim. It is how every
// claim ends: a release, a try that failed, a try whose process died.
func (p *pipeline) settle(rec sharing.Record) error {
	defer p.locks.take(addressesOf(rec))()
	return p.undo(rec)
}

// undo is settle for who holds the locks already. The record stays until all of
// it is undone, so a failure here loses nothing: the next call goes on.
func (p *pipeline) undo(rec sharing.Record) error {
	rec, fences := sharing.Release(rec, p.devices())
	if err := p.run.back(rec.Steps); err != nil {
		return fmt.Errorf("release claim %s/%s: %w", rec.Namespace, rec.Name, err)
	}
	if err := p.records.Forget(rec.UID, fences...); err != nil {
		return fmt.Errorf("forget claim %s/%s: %w", rec.Namespace, rec.Name, err)
	}
	return nil
}
