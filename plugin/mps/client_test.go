// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// answering serves on a socket of its own and returns a client of it.
func answering(t *testing.T, f http.HandlerFunc) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	serve(t, socket, f)
	return New(socket)
}

func serve(t *testing.T, socket string, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	lis, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: lis, Config: &http.Server{Handler: f}}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

var someDaemon = sharing.Daemon{ID: "gpu-0-quarter-4f2a", UUIDs: []string{"GPU-a"}, ActiveThreads: 25, PinnedMiB: []int64{7}, MultiUser: true}

func TestEnsureAsks(t *testing.T) {
	var path, body string
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.Method + " " + r.URL.Path
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			t.Error(err)
		}
		body = string(raw)
		w.WriteHeader(http.StatusNoContent)
	})
	if err := c.Ensure(t.Context(), someDaemon); err != nil {
		t.Fatal(err)
	}
	if path != "PUT /v1/daemons/gpu-0-quarter-4f2a" {
		t.Error(path)
	}
	if d := cmp.Diff(`{"uuids":["GPU-a"],"activeThreadPercentage":25,"pinnedMemoryMiB":[7],"multiUser":true}`, body); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// What no supervisor would take is not sent.
func TestRefusedBeforeSent(t *testing.T) {
	c := New("/no/such/socket")
	for name, d := range map[string]sharing.Daemon{
		"id":      {ID: "../x", UUIDs: someDaemon.UUIDs},
		"devices": {ID: "a"},
		"order":   {ID: "a", UUIDs: []string{"GPU-b", "GPU-a"}},
	} {
		if err := c.Ensure(t.Context(), d); api.ReasonOf(err) != api.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Stop(t.Context(), "a/b"); api.ReasonOf(err) != api.Invalid {
		t.Errorf("stop: %v", err)
	}
}

// How a supervisor fails is what the caller hears.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		body   string
		reason api.Reason
		says   string
	}{
		"in use":        {409, `{"reason": "InUse", "message": "it has 2 clients"}`, api.InUse, "it has 2 clients"},
		"a failed step": {500, `{"message": "mount its shared memory: no"}`, "", "mount its shared memory"},
		"of later":      {418, `{"reason": "Later", "message": "so", "more": 1}`, "Later", "so"},
		"no problem":    {502, `<html>`, "", "Bad Gateway"},
		"empty":         {500, ``, "", "Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			client := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.code)
				fmt.Fprint(w, c.body)
			})
			err := client.Stop(t.Context(), "a")
			if err == nil || api.ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) {
				t.Errorf("reason %q, %v", api.ReasonOf(err), err)
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	err := New("/no/such/socket").Ensure(t.Context(), someDaemon)
	if api.ReasonOf(err) != api.Unavailable || !strings.Contains(err.Error(), "/no/such/socket") || strings.Contains(err.Error(), "http://") {
		t.Errorf("reason %q, %v", api.ReasonOf(err), err)
	}
}

// The supervisor is asked to answer before the caller gives up.
func TestEnsureHurries(t *testing.T) {
	var wait string
	c := answering(t, func(w http.ResponseWriter, r *http.Request) { wait = r.URL.Query().Get("wait") })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, c2 := range []struct {
		ctx      context.Context
		from, to time.Duration
	}{{ctx, 8 * time.Second, 10*time.Second - margin}, {t.Context(), Longest, Longest}} {
		if err := c.Ensure(c2.ctx, someDaemon); err != nil {
			t.Fatal(err)
		}
		if got, err := time.ParseDuration(wait + "ms"); err != nil || got < c2.from || got > c2.to {
			t.Errorf("wait %q, want %s to %s", wait, c2.from, c2.to)
		}
	}
}

// What is heard: what is there at first, each change once, and that nobody answers.
// A later release tells more than is known here.
func TestWatchTellsChanges(t *testing.T) {
	dir, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	var mu sync.Mutex
	var known []string
	next := make(chan string)
	handler := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		known = append(known, r.URL.Query().Get("after"))
		mu.Unlock()
		select {
		case body := <-next:
			fmt.Fprint(w, body)
		case <-r.Context().Done():
		}
	}
	srv := serve(t, socket, handler)
	ctx, cancel := context.WithCancel(t.Context())
	heard, gone := make(chan sharing.Supervision), make(chan struct{})
	go func() {
		defer close(gone)
		New(socket).Watch(ctx, func(s sharing.Supervision) { heard <- s })
	}()
	const head = `"hello": {"version": "9", "protocol": 7, "multiUser": true, "news": []}, "daemons": `
	next <- `{"revision": "x-1", ` + head + `{}}`
	up := sharing.Supervision{Up: true, MultiUser: true, Version: "9", Daemons: map[string]sharing.DaemonState{}}
	check(t, up, <-heard)
	next <- `{"revision": "x-2", ` + head + `{}}` // nothing that the plugin looks at
	next <- `{"revision": "x-3", ` + head + `{"a": {"ready": true, "restarts": 2, "why": "killed", "clients": 3, "mood": 1}}}`
	up.Daemons = map[string]sharing.DaemonState{"a": {Ready: true, Restarts: 2, Why: "killed", Clients: 3}}
	check(t, up, <-heard)
	// In this order: who is cut off asks again at once.
	if err := srv.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	srv.CloseClientConnections()
	srv.Close()
	if s := <-heard; s.Up || !strings.Contains(s.Why, socket) || s.Daemons != nil {
		t.Errorf("gone: %+v", s)
	}
	serve(t, socket, handler)
	next <- `{"revision": "y-1", "hello": {"unable": "has no driver"}, "daemons": {}}`
	check(t, sharing.Supervision{Why: "has no driver", Daemons: map[string]sharing.DaemonState{}}, <-heard)
	cancel()
	<-gone
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(known[:3], " "); got != " x-1 x-2" {
		t.Errorf("asked after %q", got)
	}
}

func check(t *testing.T, want, got sharing.Supervision) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Settings that do the same are the same.
func TestEqual(t *testing.T) {
	base := Settings{UUIDs: []string{"GPU-a", "GPU-b"}, ActiveThreadPercentage: 25}
	for name, c := range map[string]struct {
		change func(*Settings)
		equal  bool
	}{
		"itself":       {func(*Settings) {}, true},
		"no limits":    {func(s *Settings) { s.PinnedMemoryMiB = []int64{0, 0} }, true},
		"one no limit": {func(s *Settings) { s.PinnedMemoryMiB = []int64{0} }, true},
		"a limit":      {func(s *Settings) { s.PinnedMemoryMiB = []int64{0, 1} }, false},
		"devices":      {func(s *Settings) { s.UUIDs = s.UUIDs[:1] }, false},
		"threads":      {func(s *Settings) { s.ActiveThreadPercentage = 0 }, false},
		"users":        {func(s *Settings) { s.MultiUser = true }, false},
	} {
		other := base
		c.change(&other)
		if base.Equal(other) != c.equal || other.Equal(base) != c.equal {
			t.Errorf("%s: not %t", name, c.equal)
		}
	}
}
