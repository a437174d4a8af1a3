// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sharing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecover(t *testing.T) {
	recs := []Record{{UID: "a", State: Prepared}, {UID: "b", State: Preparing}, {UID: "c", State: Releasing}}
	for name, c := range map[string]struct {
		seen Seen
		want Repair
	}{
		"same boot": {Seen{SameBoot: true, Specs: []string{"z", "a", "c", "x"}},
			Repair{Redo: recs[:1], Undo: recs[1:], Orphans: []string{"x", "z"}}},
		"another boot": {Seen{Specs: []string{"c", "a"}},
			Repair{Forget: recs, Orphans: []string{"a", "c"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Recover(recs, c.seen)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
