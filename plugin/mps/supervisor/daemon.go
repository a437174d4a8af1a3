// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// daemon is one that is wanted, or that is being done away with.
type daemon struct {
	place
	records *records
	board   *board
	// leave takes it out of the supervisor's list.
	leave func()

	// What the goroutine of run alone uses.
	settings mps.Settings
	child    *child
	server   *watched
	// served: it served once, under this supervisor or an earlier one. From then on it
	// is started anew when it fails; before, failing is an answer.
	served bool
	// leaving: it is no longer wanted.
	leaving  bool
	restarts int
	up       time.Time // when it last came to serve
	mute     time.Time // since when it does not answer; zero when it does
	lull     time.Duration
	wake     time.Time // when the lull is over
	next     phase     // what comes after it
	cause    string    // why it was last broken

	mu     sync.Mutex
	shown  mps.State
	ending bool  // an ask to stop waits or is worked on
	idle   bool  // it could not be done away with, and waits to be asked again
	over   error // set when there is no such daemon any more
	asks   []ask
	cancel context.CancelFunc
	poke   chan struct{}
}

// phase is what a daemon is in. It returns the one that follows; nil is the end.
type phase func(context.Context) phase

// ask is what others want of a daemon.
type ask struct {
	kind     kind
	settings mps.Settings
	reply    chan error
}

type kind int

const (
	askStop kind = iota
	askStart
	askPause
	askResume
)

// errOver is why there is no daemon after it was stopped, and errShut after the
// supervisor was.
var (
	errOver = errors.New("it was stopped")
	errShut = api.Errorf(api.Unavailable, "the MPS supervisor ends; ask again when it is back")
)

// run goes from phase to phase until the end.
func (d *daemon) run(ctx context.Context, first phase) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("daemon", d.id))
	for p := first; p != nil; {
		p = p(ctx)
	}
	d.dismiss()
	d.leave()
	d.mu.Lock()
	if d.over == nil {
		d.over = errShut
	}
	left := d.asks
	d.asks = nil
	d.mu.Unlock()
	for _, a := range left {
		a.reply <- d.over
	}
	d.board.bump()
}

// finish says why there is no daemon any more.
func (d *daemon) finish(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = why
}

// ask wants something of the daemon and returns its answer. A start under way is
// cut short by it.
func (d *daemon) ask(k kind, s mps.Settings) error {
	a := ask{kind: k, settings: s, reply: make(chan error, 1)}
	d.mu.Lock()
	if d.over != nil {
		defer d.mu.Unlock()
		return d.over
	}
	d.asks = append(d.asks, a)
	d.ending = d.ending || k == askStop
	if d.cancel != nil {
		d.cancel()
	}
	d.mu.Unlock()
	select {
	case d.poke <- struct{}{}:
	default:
	}
	return <-a.reply
}

// attempt is the context of a start. It is canceled when somebody asks something,
// also before.
func (d *daemon) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.asks) > 0 {
		cancel()
	}
	d.cancel = cancel
	return ctx, func() {
		d.mu.Lock()
		d.cancel = nil
		d.mu.Unlock()
		cancel()
	}
}

// heed does what is asked first, and returns the phase that follows: otherwise, if
// that does not change it or nothing is asked.
func (d *daemon) heed(ctx context.Context, otherwise phase) phase {
	d.mu.Lock()
	if len(d.asks) == 0 {
		d.mu.Unlock()
		return otherwise
	}
	a := d.asks[0]
	d.asks = d.asks[1:]
	again := len(d.asks) > 0
	d.mu.Unlock()
	if again {
		select {
		case d.poke <- struct{}{}:
		default:
		}
	}
	next, err := d.do(ctx, a, otherwise)
	a.reply <- err
	return next
}

func (d *daemon) do(ctx context.Context, a ask, otherwise phase) (phase, error) {
	switch a.kind {
	case askStop:
		return d.stop(ctx, otherwise)
	case askStart:
		if !d.leaving {
			return otherwise, nil
		}
		d.settings, d.served, d.leaving, d.cause = a.settings, false, false, ""
		d.setIdle(false)
		d.show(func(s *mps.State) { *s = mps.State{Settings: a.settings, Restarts: d.restarts} })
		return d.start, nil
	case askPause:
		err := d.endProcesses()
		if d.leaving {
			return otherwise, err
		}
		d.restarts++ // when it runs again
		return d.held, err
	case askResume:
		if !d.leaving && d.child == nil {
			return d.start, nil
		}
	}
	return otherwise, nil
}

// show changes what others see.
func (d *daemon) show(f func(*mps.State)) {
	d.mu.Lock()
	was := d.shown
	f(&d.shown)
	same := was.Ready == d.shown.Ready && was.Why == d.shown.Why && was.Restarts == d.shown.Restarts && was.Clients == d.shown.Clients && was.Settings.Equal(d.shown.Settings)
	d.mu.Unlock()
	if !same {
		d.board.bump()
	}
}

// doing shows which step is under way.
func (d *daemon) doing(step string) {
	if d.cause != "" {
		step = d.cause + "; now: " + step
	}
	d.show(func(s *mps.State) { s.Why = step })
}

func (d *daemon) setIdle(idle bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = idle
}

func (d *daemon) isStuck() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.idle && !d.ending
}

func (d *daemon) look() (st mps.State, ending bool, over error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown, d.ending, d.over
}
