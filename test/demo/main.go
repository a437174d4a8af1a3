// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo starts a real Kubernetes with a simulated GPU node on this
// machine, installs Cotenant, and plays the walkthrough.
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
	"time"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/walkthrough"
)

func main() {
	keep := flag.Bool("keep", false, "leave the cluster up")
	verbose := flag.Bool("v", false, "show what the tools say")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *keep, *verbose)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo: failed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, keep, verbose bool) (err error) {
	log := io.Discard
	if verbose {
		log = os.Stderr
	}
	l, err := lab.New("demo", log)
	if err != nil {
		return err
	}
	defer func() {
		if keep {
			return
		}
		// The context may have ended; what was started is taken down all the same.
		err = errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}()
	begun := time.Now()
	fmt.Println("demo: starting Kubernetes, a node with one simulated NVIDIA A30 and a node without")
	if err := l.Up(ctx, walkthrough.Nodes()...); err != nil {
		return err
	}
	passed, total, err := walkthrough.Play(ctx, l, os.Stdout)
	if err != nil {
		return fmt.Errorf("%d of %d steps: %w", passed, total, err)
	}
	fmt.Printf("\n%.0f s in all\n", time.Since(begun).Seconds())
	if keep {
		usage(l)
	}
	fmt.Printf("demo: ok, %d of %d steps\n", passed, total)
	return nil
}

func usage(l *lab.Lab) {
	fmt.Printf(`
The cluster is left up. To use it:
  export KUBECONFIG=%s
  %s get pods -A
To stop it:
  make down

`, l.Kubeconfig(), l.Tool("kubectl"))
}
