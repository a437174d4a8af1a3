// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/lab/labtest"
	"github.com/cotenant-dev/cotenant/test/walkthrough"
)

// cluster is what the tests share: one control plane, the walkthrough's nodes,
// and Cotenant, installed by the walkthrough itself.
var cluster *lab.Lab

func TestMain(m *testing.M) {
	labtest.Main(m, "e2e", func(ctx context.Context, l *lab.Lab) error {
		cluster = l
		if err := l.Up(ctx, walkthrough.Nodes()...); err != nil {
			return err
		}
		// Every other test needs what the walkthrough installs, so it comes first.
		passed, total, err := walkthrough.Play(ctx, l, os.Stdout)
		if err != nil {
			return fmt.Errorf("walkthrough: %d of %d steps: %w", passed, total, err)
		}
		return nil
	})
}
