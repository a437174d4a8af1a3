// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"context"
	"reflect"
	"time"

	"github.com/cotenant-dev/cotenant/sharing"
)

// How long Watch waits before it asks again a supervisor that did not answer:
// twice as long each time.
const (
	shortestRetry = 50 * time.Millisecond
	longestRetry  = 2 * time.Second
)

// Watch calls changed with what the supervisor tells, at first and whenever that
// is something else, until ctx ends. A supervisor that cannot be reached is not
// up, and its daemons are not known.
func (c *Client) Watch(ctx context.Context, changed func(sharing.Supervision)) {
	var told *sharing.Supervision
	tell := func(s sharing.Supervision) {
		if told == nil || !reflect.DeepEqual(*told, s) {
			told = &s
			changed(s)
		}
	}
	known, retry := "", shortestRetry
	for ctx.Err() == nil {
		// A supervisor that hangs is told from one that has no news.
		asked, cancel := context.WithTimeout(ctx, Longest+10*time.Second)
		l, err := c.List(asked, known)
		cancel()
		if err == nil {
			known, retry = l.Revision, shortestRetry
			tell(supervisionOf(l))
			continue
		}
		if ctx.Err() != nil {
			return
		}
		known = ""
		tell(sharing.Supervision{Why: err.Error()})
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
		retry = min(2*retry, longestRetry)
	}
}
