// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errMissed is returned when the figures are there and one is worse than its
// bar. The table has said which.
var errMissed = errors.New("a bar was missed")

func main() {
	o := options{progress: os.Stderr, tools: io.Discard, table: os.Stdout}
	flag.StringVar(&o.out, "out", "", "`file` for the figures as JSON (default out/bench.json of the repository)")
	quick := flag.Bool("quick", false, "fewer samples: shows that it works, not how fast it is")
	verbose := flag.Bool("v", false, "show what the tools and the plugins say")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "bench: unknown argument %q; see --help\n", flag.Arg(0))
		os.Exit(2)
	}
	o.effort = effortFor(*quick)
	if *verbose {
		o.tools = os.Stderr
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: failed:", err)
		os.Exit(1)
	}
}
