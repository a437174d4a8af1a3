// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package labtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/cotenant-dev/cotenant/test/lab"
)

// Main runs the tests of a package on a lab of that name, which up brings up, and
// exits. The lab is gone afterwards, whatever failed.
func Main(m *testing.M, name string, up func(context.Context, *lab.Lab) error) {
	code, err := run(m, name, up)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, name string, up func(context.Context, *lab.Lab) error) (code int, err error) {
	ctx := context.Background()
	l, err := lab.New(name, io.Discard)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, l.Down(ctx)) }()
	if err := up(ctx, l); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
