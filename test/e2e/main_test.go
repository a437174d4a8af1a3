// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/walkthrough"
)

// cluster is what the tests share: one control plane, the walkthrough's nodes,
// and Cotenant, installed by the walkthrough itself.
var cluster *lab.Lab

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx := context.Background()
	cluster, err = lab.New("e2e", io.Discard)
	if err != nil {
		return 1, err
	}
	defer func() {
		if derr := cluster.Down(ctx); err == nil {
			err = derr
		}
	}()
	if err := cluster.Up(ctx, walkthrough.Nodes()...); err != nil {
		return 1, err
	}
	// Every other test needs what the walkthrough installs, so it comes first.
	passed, total, err := walkthrough.Play(ctx, cluster, os.Stdout)
	if err != nil {
		return 1, fmt.Errorf("walkthrough: %d of %d steps: %w", passed, total, err)
	}
	return m.Run(), nil
}
