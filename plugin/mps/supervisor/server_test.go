// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// keeps is a keeper that remembers what it was asked, and fails with err.
type keeps struct {
	err     error
	ids     []string
	wanted  []mps.Settings
	waits   []time.Duration
	paused  string
	resumed bool
}

func (k *keeps) Hello() mps.Hello { return mps.Hello{Protocol: mps.Protocol} }

func (k *keeps) List(_ context.Context, known string) mps.List {
	return mps.List{Revision: known + "+"}
}

func (k *keeps) Ensure(ctx context.Context, id string, want mps.Settings) error {
	deadline, _ := ctx.Deadline()
	k.ids, k.wanted, k.waits = append(k.ids, id), append(k.wanted, want), append(k.waits, time.Until(deadline))
	return k.err
}

func (k *keeps) Stop(id string) error {
	k.ids = append(k.ids, id)
	return k.err
}

func (k *keeps) Pause(why string) error { k.paused = why; return k.err }
func (k *keeps) Resume() error          { k.resumed = true; return k.err }

const someRoot = "/run/cotenant/mps"

func request(k *keeps, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.URL.Path, r.URL.RawPath = target, ""
	if path, query, ok := strings.Cut(target, "?"); ok {
		r.URL.Path, r.URL.RawQuery = path, query
	}
	server{k, someRoot}.handler().ServeHTTP(w, r)
	return w
}

const oneGPU = `{"uuids": ["GPU-a"]}`

// What cannot be wanted is refused before it gets anywhere.
func TestBadRequests(t *testing.T) {
	for name, c := range map[string]struct{ method, target, body, says string }{
		"dots":              {"PUT", "/v1/daemons/...", oneGPU, "not the name"},
		"upper case":        {"PUT", "/v1/daemons/A", oneGPU, "not the name"},
		"underscore":        {"DELETE", "/v1/daemons/a_b", "", "not the name"},
		"dash at the end":   {"DELETE", "/v1/daemons/a-", "", "not the name"},
		"encoded slash":     {"DELETE", "/v1/daemons/a%2fb", "", "not the name"},
		"zero":              {"DELETE", "/v1/daemons/a\x00", "", "not the name"},
		"64 letters":        {"PUT", "/v1/daemons/" + strings.Repeat("a", 64), oneGPU, "not the name"},
		"no body":           {"PUT", "/v1/daemons/a", "", "body"},
		"another body":      {"PUT", "/v1/daemons/a", "[]", "body"},
		"long body":         {"PUT", "/v1/daemons/a", `{"uuids": ["` + strings.Repeat("a", mps.MaxBody) + `"]}`, "too large"},
		"no device":         {"PUT", "/v1/daemons/a", "{}", "0 devices"},
		"device of no form": {"PUT", "/v1/daemons/a", `{"uuids": ["GPU-a,GPU-b"]}`, "not the UUID"},
		"index":             {"PUT", "/v1/daemons/a", `{"uuids": ["0"]}`, "not the UUID"},
		"not sorted":        {"PUT", "/v1/daemons/a", `{"uuids": ["GPU-b", "GPU-a"]}`, "sorted"},
		"twice":             {"PUT", "/v1/daemons/a", `{"uuids": ["GPU-a", "GPU-a"]}`, "sorted"},
		"percentage":        {"PUT", "/v1/daemons/a", `{"uuids": ["GPU-a"], "activeThreadPercentage": 101}`, "101"},
		"limits":            {"PUT", "/v1/daemons/a", `{"uuids": ["GPU-a"], "pinnedMemoryMiB": [1, 2]}`, "2 memory limits"},
		"negative limit":    {"PUT", "/v1/daemons/a", `{"uuids": ["GPU-a"], "pinnedMemoryMiB": [-1]}`, "-1 MiB"},
		"pause for nothing": {"PUT", "/v1/pause", "{}", "why"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &keeps{}
			w := request(k, c.method, c.target, c.body)
			var p mps.Problem
			ok(t, json.Unmarshal(w.Body.Bytes(), &p))
			if w.Code != http.StatusBadRequest || p.Reason != api.Invalid || !strings.Contains(p.Message, c.says) {
				t.Errorf("%d, %+v; want one that says %q", w.Code, p, c.says)
			}
			if len(k.ids) > 0 || k.paused != "" {
				t.Errorf("it got to the keeper: %+v", k)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	k := &keeps{}
	newer := `{"uuids": ["GPU-a", "MIG-b"], "activeThreadPercentage": 25, "pinnedMemoryMiB": [0, 7], "multiUser": true, "ofALaterRelease": {}}`
	for _, c := range []struct {
		target string
		wait   time.Duration
	}{{"", mps.Longest}, {"?wait=1500", 1500 * time.Millisecond}, {"?wait=99999999", mps.Longest}, {"?wait=-1", mps.Longest}, {"?wait=x", mps.Longest}, {"?wait=0", 0}} {
		if w := request(k, "PUT", "/v1/daemons/gpu-0-quarter-4f2a"+c.target, newer); w.Code != http.StatusNoContent {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		got := k.waits[len(k.waits)-1]
		if got > c.wait || got < c.wait-time.Second {
			t.Errorf("%q waits %s, want %s", c.target, got, c.wait)
		}
	}
	want := mps.Settings{UUIDs: []string{"GPU-a", "MIG-b"}, ActiveThreadPercentage: 25, PinnedMemoryMiB: []int64{0, 7}, MultiUser: true}
	if !k.wanted[0].Equal(want) || k.ids[0] != "gpu-0-quarter-4f2a" {
		t.Errorf("asked for %s, %+v", k.ids[0], k.wanted[0])
	}
	if w := request(k, "GET", "/v1/daemons?after=x-7", ""); !strings.Contains(w.Body.String(), `"revision":"x-7+"`) {
		t.Errorf("list: %s", w.Body)
	}
	if w := request(k, "PUT", "/v1/pause", `{"why": "driver"}`); w.Code != http.StatusNoContent || k.paused != "driver" {
		t.Errorf("pause: %d, %q", w.Code, k.paused)
	}
	if w := request(k, "DELETE", "/v1/pause", ""); w.Code != http.StatusNoContent || !k.resumed {
		t.Errorf("resume: %d", w.Code)
	}
	if w := request(k, "GET", "/v2/daemons", ""); w.Code != http.StatusNotFound {
		t.Errorf("a protocol of the future: %d", w.Code)
	}
}

// Each reason comes through to the caller as it was.
func TestReasons(t *testing.T) {
	for reason, code := range map[api.Reason]int{api.Invalid: 400, api.InUse: 409, api.Canceled: 409, api.Unavailable: 503, api.Pending: 503, api.NotFound: 404, api.Internal: 500, api.Lost: 500} {
		w := request(&keeps{err: api.Errorf(reason, "so it is")}, "DELETE", "/v1/daemons/a", "")
		var p mps.Problem
		ok(t, json.Unmarshal(w.Body.Bytes(), &p))
		if w.Code != code || p.Reason != reason || p.Message != "so it is" {
			t.Errorf("%s: %d %+v", reason, w.Code, p)
		}
	}
	w := request(&keeps{err: errors.New("so it is")}, "DELETE", "/v1/daemons/a", "")
	var p mps.Problem
	if ok(t, json.Unmarshal(w.Body.Bytes(), &p)); w.Code != 500 || p.Reason != "" {
		t.Errorf("no reason: %d %+v", w.Code, p)
	}
}

// A socket's name has room for so many bytes, and one root has so many of them.
func TestLongRoot(t *testing.T) {
	id := strings.Repeat("a", 36)
	fits := "/" + strings.Repeat("r", 106-1-len("//pipe/control")-len(id))
	if err := mps.CheckID(fits, id); err != nil {
		t.Errorf("106 bytes: %v", err)
	}
	says(t, mps.CheckID(fits+"r", id), "107 bytes", "--root")
}

// Whatever is asked for, what gets to the keeper is a name below the root and
// settings that a daemon can have; and everything is answered.
func FuzzRequests(f *testing.F) {
	f.Add("PUT", "gpu-0-quarter-4f2a", oneGPU)
	f.Add("PUT", "..", `{"uuids": ["GPU-a"], "activeThreadPercentage": -1}`)
	f.Add("DELETE", "../../etc", "")
	f.Add("DELETE", "a/../b", "{}")
	f.Add("PUT", "a%2fb", `{"uuids": ["MIG-GPU-a/1/2"], "pinnedMemoryMiB": [9223372036854775807]}`)
	f.Add("GET", "a", "null")
	f.Fuzz(func(t *testing.T, method, id, body string) {
		if method != "PUT" && method != "DELETE" {
			method = "GET"
		}
		k := &keeps{}
		w := request(k, method, "/v1/daemons/"+id, body)
		if w.Code < 200 {
			t.Errorf("answered %d", w.Code)
		}
		for _, got := range k.ids {
			if dir := filepath.Join(someRoot, got); filepath.Dir(dir) != someRoot || strings.ContainsAny(got, "/.\x00") {
				t.Errorf("%q leads to %s", got, dir)
			}
		}
		for _, s := range k.wanted {
			if err := s.Check(); err != nil {
				t.Error(err)
			}
			for _, u := range s.UUIDs {
				if strings.ContainsAny(u, ", =\n\x00") {
					t.Errorf("device %q", u)
				}
			}
		}
	})
}
