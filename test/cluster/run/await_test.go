// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

func TestAwait(t *testing.T) {
	tries := 0
	err := await(t.Context(), "it", "", nil, func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || tries != 3 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestAwaitGivesUp(t *testing.T) {
	never := func(context.Context) error { return errors.New("still asleep") }
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := await(ctx, "it", filepath.Join(t.TempDir(), "log"), nil, never)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still asleep") {
		t.Errorf("at the deadline: %v", err)
	}

	dir := t.TempDir()
	daemon, err := machine.Daemon{Dir: dir, Part: "it", Log: filepath.Join(dir, "log"), Args: []string{"sh", "-c", "echo out of milk; exit 4"}}.Start()
	if err != nil {
		t.Fatal(err)
	}
	err = await(t.Context(), "it", daemon.Log, daemon, never)
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.Contains(err.Error(), "out of milk") {
		t.Errorf("when the daemon has ended: %v", err)
	}
}

func TestNodeReady(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	for name, test := range map[string]struct {
		status int
		body   string
		want   string // in the error; empty if it is ready
	}{
		"ready":            {200, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:05Z"}]}}`, ""},
		"report of before": {200, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-02T03:04:04Z"}]}}`, "not reported yet"},
		"not ready":        {200, `{"status":{"conditions":[{"type":"Ready","status":"False","message":"no network","lastHeartbeatTime":"2026-01-02T03:04:06Z"}]}}`, "no network"},
		"other conditions": {200, `{"status":{"conditions":[{"type":"MemoryPressure","status":"True"}]}}`, "not reported anything"},
		"not there":        {404, `not found`, "404"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/nodes/a" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.WriteHeader(test.status)
				w.Write([]byte(test.body))
			}))
			defer s.Close()
			err := (&api{server: s.URL, client: s.Client()}).nodeReady("a", since)(t.Context())
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
