// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// condition says whether something is ready; if not, why.
type condition func(context.Context) error

// pollEvery is how often a condition is looked at.
const pollEvery = 100 * time.Millisecond

// await waits until the condition holds. It fails when the context ends, and at
// once when the daemon it waits for, if this process started it, has ended.
func await(ctx context.Context, what, log string, daemon *machine.Running, ready condition) error {
	var ended <-chan struct{} // nil blocks for ever
	if daemon != nil {
		ended = daemon.Done()
	}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		why := ready(ctx)
		if why == nil {
			return nil
		}
		select {
		case <-ended:
			return daemon.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w); the end of %s:\n%s", what, why, context.Cause(ctx), log, machine.Tail(log, 20))
		case <-ticker.C:
		}
	}
}
