// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
)

// The layouts that are compared.
const (
	byNames = "order of names"
	bySpace = "our order"
	bestOf  = "best fit"
)

// setting is what a node is put through.
type setting struct {
	mix  mix
	load float64 // see demand
	pace pace
}

func (s setting) String() string {
	name := fmt.Sprintf("%s, load %.2f", s.mix.name, s.load)
	if s.pace.name != "" {
		name += ", " + s.pace.name
	}
	return name
}

// settings begin with the one that has the bar for 4g, and end with the same at
// another pace.
func settings() []setting {
	var out []setting
	for _, m := range mixes() {
		for _, load := range []float64{0.85, 1.00} {
			out = append(out, setting{m, load, regular})
		}
	}
	first := out[0]
	for _, p := range []pace{atRandom, equallyLong} {
		out = append(out, setting{first.mix, first.load, p})
	}
	return out
}

// contender is a layout with a way to place claims on it.
type contender struct {
	layout string
	packer func() packer
}

// result is what became of the claims of each seed.
type result struct {
	setting
	layouts map[string][]outcome
}

// study lets each contender have the claims of every setting and seed.
func study(ctx context.Context, t *table, contenders []contender, seeds, claims int) ([]result, error) {
	var out []result
	for _, s := range settings() {
		r := result{setting: s, layouts: map[string][]outcome{}}
		for _, c := range contenders {
			r.layouts[c.layout] = make([]outcome, seeds)
		}
		out = append(out, r)
	}
	var jobs []func() error
	for _, r := range out {
		for _, c := range contenders {
			for seed := range seeds {
				jobs = append(jobs, func() (err error) {
					r.layouts[c.layout][seed], err = once(ctx, t, r.setting, c, seed, claims)
					return err
				})
			}
		}
	}
	return out, inParallel(ctx, jobs)
}

// once is one setting with the claims of one seed.
func once(ctx context.Context, t *table, s setting, c contender, seed, claims int) (outcome, error) {
	asked, err := demand(s, t, gpus, uint64(seed), claims)
	if err != nil {
		return outcome{}, err
	}
	o, err := churn(ctx, t, gpus, asked, c.packer())
	if err != nil {
		return outcome{}, fmt.Errorf("%s, %s, seed %d: %w", s, c.layout, seed, err)
	}
	return o, nil
}

// inParallel runs the jobs, as many at once as there are CPUs, until one fails.
// It returns the error of the first that did.
func inParallel(ctx context.Context, jobs []func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan func() error)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for job := range next {
				if err := job(); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, job := range jobs {
		select {
		case next <- job:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// accepted are the claims of a profile that were placed, in percent, by seed.
func accepted(profile int) func(outcome) float64 {
	return func(o outcome) float64 {
		return 100 * float64(o.accepted[profile]) / float64(o.offered[profile])
	}
}

// held is the memory that was held, in percent.
func held(o outcome) float64 { return 100 * o.memory }

// mean is that of a figure over the seeds.
func (r result) mean(layout string, figure func(outcome) float64) float64 {
	sum := 0.0
	for _, o := range r.layouts[layout] {
		sum += figure(o)
	}
	return sum / float64(len(r.layouts[layout]))
}

// over is by how much a figure is higher on one layout than on another, and the
// standard error of that: each seed gave both the same claims.
func (r result) over(one, other string, figure func(outcome) float64) (mean, stderr float64) {
	n := float64(len(r.layouts[one]))
	mean = r.mean(one, figure) - r.mean(other, figure)
	for i := range r.layouts[one] {
		d := figure(r.layouts[one][i]) - figure(r.layouts[other][i]) - mean
		stderr += d * d
	}
	return mean, math.Sqrt(stderr / (n * (n - 1)))
}
