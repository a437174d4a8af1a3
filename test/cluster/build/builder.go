// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Builder makes the products.
type Builder struct {
	Repository string
	Output     Output
	Progress   io.Writer
}

// Options say what to make.
type Options struct {
	Version Version
	// ControlPlaneOnly leaves out what only nodes need: packages, containerd and
	// images. It needs no root.
	ControlPlaneOnly bool
}

// step is one product or group of products that is made together.
type step struct {
	name string
	run  func(context.Context) (did string, err error)
}

// Build makes what is missing or out of date.
func (b *Builder) Build(ctx context.Context, o Options) error {
	steps := []step{
		{"kube " + o.Version.String(), func(ctx context.Context) (string, error) { return b.kube(ctx, o.Version) }},
		{"kubectl, helm", b.clients},
	}
	if !o.ControlPlaneOnly {
		steps = append([]step{{"packages", b.packages}}, steps...)
		steps = append(steps,
			step{"containerd, containerd-shim-runc-v2, ctr", b.containerd},
			step{"pause, image", b.Tools},
			step{"images", b.Images})
	}
	start := time.Now()
	for _, s := range steps {
		if err := b.step(ctx, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.Progress, "built into %s in %s\n", b.Output, round(time.Since(start)))
	return nil
}

// progressEvery is how often a long step says that it is still at work.
const progressEvery = 20 * time.Second

func (b *Builder) step(ctx context.Context, s step) error {
	start := time.Now()
	fmt.Fprintf(b.Progress, "%s …\n", s.name)
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(b.Progress, "  %s: at work for %s\n", s.name, round(time.Since(start)))
			}
		}
	}()
	did, err := s.run(ctx)
	close(done)
	<-finished
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	fmt.Fprintf(b.Progress, "  %s in %s\n", did, round(time.Since(start)))
	return nil
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// goBuild is one call of `go build`.
type goBuild struct {
	dir      string // of the module
	target   string // program, or directory if it ends in a slash
	tags     string
	ldflags  string
	modMod   bool // may complete go.mod and go.sum
	packages []string
}

func (g goBuild) args() []string {
	args := []string{"build", "-trimpath", "-ldflags=-s -w " + g.ldflags, "-o", g.target}
	if g.tags != "" {
		args = append(args, "-tags="+g.tags)
	}
	if g.modMod {
		args = append(args, "-mod=mod")
	}
	return append(args, g.packages...)
}

// compile runs the build unless all products are there and newer inputs are not.
func (b *Builder) compile(ctx context.Context, g goBuild, products ...string) (string, error) {
	toolchain, err := b.goOutput(ctx, g.dir, "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	stamp := stamp{inputs: []string{g.dir}, words: append(g.args(), toolchain)}
	fresh, sum, err := stamp.fresh(products)
	if err != nil || fresh {
		return "up to date", err
	}
	if err := os.MkdirAll(filepath.Dir(g.target), 0o755); err != nil {
		return "", err
	}
	if _, err := b.goOutput(ctx, g.dir, g.args()...); err != nil {
		return "", err
	}
	if g.modMod { // the build has completed its own inputs
		if sum, err = stamp.sum(); err != nil {
			return "", err
		}
	}
	return "compiled", stamp.write(products, sum)
}

// goOutput runs the go command in a module and returns what it printed.
func (b *Builder) goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// Static programs run in any image; a workspace would mix the modules that
	// are kept apart on purpose.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), dir, err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}
