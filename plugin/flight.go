// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// errand is what a flight is for.
type errand int

const (
	preparing errand = iota
	releasing
	// mending is the plugin's own: nobody waits for what it returns.
	mending
)

// flights lets one piece of work at a time run for a claim, on the plugin's own
// context: the kubelet's deadline ends a call, not the work, and its next call
// joins what is already under way.
type flights struct {
	mu   sync.Mutex
	live map[string]*flight
}

type flight struct {
	errand errand
	cancel context.CancelFunc
	done   chan struct{}
	grant  sharing.Grant
	err    error
	// step is what it is doing that may take a while, or nil.
	step atomic.Pointer[string]
}

// flightKey is under which a flight's context has the flight.
type flightKey struct{}

// doing notes for who waits what is being done now that may take a while.
func doing(ctx context.Context, what string) {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		f.step.Store(&what)
	}
}

// waiting is what to tell who cannot wait any longer.
func (f *flight) waiting(uid string, cause error) error {
	what := "being worked on"
	if step := f.step.Load(); step != nil {
		what = *step
	}
	return api.Errorf(api.Pending, "claim %s: still %s; the kubelet tries again and finds it where it is then (%w)", uid, what, cause)
}

// fly joins the flight of the claim that has the same errand, or starts one. A
// release cancels any other before its next step and waits for it; others wait
// for each other. ctx is the caller's and bounds the wait only;
// base is the plugin's.
func (f *flights) fly(ctx, base context.Context, uid string, e errand, work func(context.Context) (sharing.Grant, error)) (sharing.Grant, error) {
	for {
		current, mine := f.enter(base, uid, e, work)
		select {
		case <-current.done:
		case <-ctx.Done():
			return sharing.Grant{}, current.waiting(uid, ctx.Err())
		}
		if mine {
			return current.grant, current.err
		}
	}
}

// enter returns the claim's flight and whether it is on the caller's errand.
func (f *flights) enter(base context.Context, uid string, e errand, work func(context.Context) (sharing.Grant, error)) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cur := f.live[uid]; cur != nil {
		if cur.errand != e && e == releasing {
			cur.cancel()
		}
		return cur, cur.errand == e
	}
	ctx, cancel := context.WithCancel(base)
	cur := &flight{errand: e, cancel: cancel, done: make(chan struct{})}
	ctx = context.WithValue(ctx, flightKey{}, cur)
	if f.live == nil {
		f.live = map[string]*flight{}
	}
	f.live[uid] = cur
	go func() {
		defer cancel()
		cur.grant, cur.err = recovered(ctx, uid, work)
		f.mu.Lock()
		delete(f.live, uid)
		f.mu.Unlock()
		close(cur.done)
	}()
	return cur, true
}

// recovered turns a panic in one claim's work into that claim's error.
func recovered(ctx context.Context, uid string, work func(context.Context) (sharing.Grant, error)) (g sharing.Grant, err error) {
	defer func() {
		if r := recover(); r != nil {
			klog.FromContext(ctx).Error(nil, "Panic while working on a claim", "claimUID", uid, "panic", r, "stack", string(debug.Stack()))
			err = api.Errorf(api.Internal, "claim %s: internal error: %v; please report it with the plugin's log", uid, r)
		}
	}()
	return work(ctx)
}

// wait returns when no flight is live, or when ctx ends.
func (f *flights) wait(ctx context.Context) {
	for {
		f.mu.Lock()
		var one *flight
		for _, cur := range f.live {
			one = cur
			break
		}
		f.mu.Unlock()
		if one == nil {
			return
		}
		select {
		case <-one.done:
		case <-ctx.Done():
			return
		}
	}
}
