// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// keeper is the supervisor as its socket sees it.
type keeper interface {
	Hello() mps.Hello
	List(ctx context.Context, known string) mps.List
	Ensure(ctx context.Context, id string, want mps.Settings) error
	Stop(id string) error
	Pause(why string) error
	Resume() error
}

// server answers requests. Nothing that comes in reaches the keeper unchecked.
type server struct {
	keeper keeper
	root   string
}

func (s server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/hello", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.keeper.Hello()) })
	mux.HandleFunc("GET /v1/daemons", s.list)
	mux.HandleFunc("PUT /v1/daemons/{id}", s.ensure)
	mux.HandleFunc("DELETE /v1/daemons/{id}", s.stop)
	mux.HandleFunc("PUT /v1/pause", s.pause)
	mux.HandleFunc("DELETE /v1/pause", func(w http.ResponseWriter, _ *http.Request) { finish(w, s.keeper.Resume()) })
	return mux
}

func (s server) list(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), mps.Longest)
	defer cancel()
	answer(w, s.keeper.List(ctx, r.URL.Query().Get("after")))
}

func (s server) ensure(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := mps.CheckID(s.root, id); err != nil {
		finish(w, err)
		return
	}
	var want mps.Settings
	if err := errors.Join(body(w, r, &want), want.Check()); err != nil {
		finish(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), waitOf(r))
	defer cancel()
	finish(w, s.keeper.Ensure(ctx, id, want))
}

func (s server) stop(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := mps.CheckID(s.root, id); err != nil {
		finish(w, err)
		return
	}
	finish(w, s.keeper.Stop(id))
}

func (s server) pause(w http.ResponseWriter, r *http.Request) {
	var p mps.Pause
	if err := body(w, r, &p); err != nil {
		finish(w, err)
		return
	}
	if p.Why == "" || len(p.Why) > 256 {
		finish(w, api.Errorf(api.Invalid, "a pause needs to say why, in at most 256 bytes"))
		return
	}
	finish(w, s.keeper.Pause(p.Why))
}

// body reads what was sent. Fields of a later release are not looked at.
func body(w http.ResponseWriter, r *http.Request, into any) error {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mps.MaxBody)).Decode(into); err != nil {
		return api.Errorf(api.Invalid, "the request's body cannot be read: %w", err)
	}
	return nil
}

// waitOf is how long the caller waits, which is never for ever.
func waitOf(r *http.Request) time.Duration {
	millis, err := strconv.ParseInt(r.URL.Query().Get("wait"), 10, 32)
	if err != nil || millis < 0 {
		return mps.Longest
	}
	return min(mps.Longest, time.Duration(millis)*time.Millisecond)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// Who asked may be gone.
	_ = json.NewEncoder(w).Encode(v)
}

// statuses are those of reasons; of the others, and of none, it is 500.
var statuses = map[api.Reason]int{
	api.Invalid: http.StatusBadRequest, api.InUse: http.StatusConflict, api.Canceled: http.StatusConflict,
	api.NotFound: http.StatusNotFound, api.Unavailable: http.StatusServiceUnavailable, api.Pending: http.StatusServiceUnavailable,
}

func finish(w http.ResponseWriter, err error) {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	p := mps.Problem{Reason: api.ReasonOf(err), Message: err.Error()}
	code, ok := statuses[p.Reason]
	if !ok {
		code = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(p) // who asked may be gone
}

// listen serves on the socket until ctx ends.
func (s *Supervisor) listen(ctx context.Context) error {
	// The lock on the root says that whoever left a socket here is gone.
	if err := os.Remove(s.cfg.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a stale socket: %w", err)
	}
	private := s.cfg.Socket + ".new"
	_ = os.Remove(private) // of a supervisor that ended here
	lis, err := net.Listen("unix", private)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer lis.Close()
	// Nobody can open it before it is only root's.
	if err := errors.Join(os.Chmod(private, 0o600), os.Rename(private, s.cfg.Socket)); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer os.Remove(s.cfg.Socket)
	srv := &http.Server{
		Handler: server{s, s.cfg.Root}.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: nil,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	klog.FromContext(ctx).Info("Serving", "socket", s.cfg.Socket, "root", s.cfg.Root, "unable", s.unable())
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(lis) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	// Whoever waits is answered, since ctx is theirs, too.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Quit)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		return errors.Join(fmt.Errorf("stop serving: %w", err), srv.Close())
	}
	return nil
}
