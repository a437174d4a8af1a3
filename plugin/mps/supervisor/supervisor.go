// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// Supervisor runs the daemons that are wanted.
type Supervisor struct {
	cfg     Config
	lock    *os.File
	records *records
	board   *board
	notes   []string

	mu      sync.Mutex
	daemons map[string]*daemon
	// live is the context of the daemons; nil before Run and after its end.
	live    context.Context
	running sync.WaitGroup
}

// New prepares the root for a supervisor, which is then the only one there.
func New(cfg Config) (*Supervisor, error) {
	cfg.Patience = cfg.orStandard()
	for _, d := range []string{cfg.Root, cfg.Logs, filepath.Dir(cfg.Socket)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("make the directory %s: %w", d, err)
		}
	}
	// mountinfo has paths without links.
	for _, d := range []*string{&cfg.Root, &cfg.Logs} {
		full, err := filepath.EvalSymlinks(*d)
		if err == nil {
			err = directory(full)
		}
		if err != nil {
			return nil, fmt.Errorf("use the directory %s: %w", *d, err)
		}
		*d = full
	}
	lock, err := os.OpenFile(filepath.Join(cfg.Root, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", cfg.Root, err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w; another supervisor is running there", cfg.Root, err), lock.Close())
	}
	s := &Supervisor{cfg: cfg, lock: lock, board: newBoard(rand.Text()[:8]), daemons: map[string]*daemon{}}
	var note string
	if s.records, note, err = openRecords(cfg.Root, time.Now()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if note != "" {
		s.notes = append(s.notes, note)
	}
	return s, nil
}

// Run restores the daemons that are wanted and serves until ctx ends; then it ends
// them, and they stay wanted. Their directories stay as they are: containers have
// them mounted.
func (s *Supervisor) Run(ctx context.Context) error {
	log := klog.FromContext(ctx)
	for _, n := range s.notes {
		log.Error(nil, "An operator should know", "note", n)
	}
	live, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.mu.Lock()
	s.live = live
	s.mu.Unlock()
	s.restore(ctx)
	go s.watchAbility(live)
	err := s.listen(ctx)
	s.mu.Lock()
	s.live = nil
	s.mu.Unlock()
	end()
	s.running.Wait()
	return errors.Join(err, s.lock.Close())
}

// restore starts what an earlier supervisor ran, and ends what it ran and is not
// wanted.
func (s *Supervisor) restore(ctx context.Context) {
	wanted := s.records.all()
	known := map[string]bool{}
	for id, rec := range wanted {
		d := s.daemon(id)
		known[d.dir] = true
		d.settings, d.served, d.restarts, d.cause = rec.Settings, true, rec.Restarts+1, "the supervisor was started anew"
		now := time.Now()
		d.shown = mps.State{Settings: rec.Settings, Why: d.cause, BrokenSince: &now, Restarts: d.restarts}
		first := d.start
		if rec.Stopping {
			first, d.leaving, d.ending = d.goOn, true, true
		}
		s.mu.Lock()
		s.launch(d, first)
		s.mu.Unlock()
	}
	strays, err := marked(func(dir string) bool { return dir != "" && within(dir, s.cfg.Root) && !known[dir] })
	if err != nil {
		klog.FromContext(ctx).Error(err, "Daemons that are not wanted may be left")
	}
	for dir, all := range strays {
		klog.FromContext(ctx).Info("Ending a daemon that is not wanted", "dir", dir, "processes", len(all))
		s.running.Go(func() {
			if err := endAll(all, s.cfg.Quit); err != nil {
				klog.FromContext(ctx).Error(err, "A daemon that is not wanted is left", "dir", dir)
			}
		})
	}
}

// daemon makes one that nothing is known of.
func (s *Supervisor) daemon(id string) *daemon {
	d := &daemon{place: s.cfg.place(id), records: s.records, board: s.board, poke: make(chan struct{}, 1)}
	d.leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.daemons[id] == d {
			delete(s.daemons, id)
		}
	}
	return d
}

// launch lets a daemon run. s.mu is held.
func (s *Supervisor) launch(d *daemon, first phase) {
	s.daemons[d.id] = d
	ctx := s.live
	s.running.Go(func() { d.run(ctx, first) })
	s.board.bump()
}

// Ensure returns nil when the daemon serves with these settings; see
// mps.Client.Ensure.
func (s *Supervisor) Ensure(ctx context.Context, id string, want mps.Settings) error {
	for {
		d, err := s.wanted(id, want)
		if err == nil {
			err = d.await(ctx)
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
}

// wanted returns the daemon, which is started if there is none.
func (s *Supervisor) wanted(id string, want mps.Settings) (*daemon, error) {
	d, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return s.begin(id, want)
	}
	if d.isStuck() {
		// What could not be done away with may be wanted again, in whatever way.
		err := d.ask(askStart, want)
		if errors.Is(err, errOver) {
			err = errAgain
		}
		if err != nil {
			return nil, err
		}
	}
	if st, ending, _ := d.look(); !ending && !st.Settings.Equal(want) {
		return nil, api.Errorf(api.Invalid, "MPS daemon %s has other settings (%s); stop it first", id, difference(st.Settings, want))
	}
	return d, nil
}

func difference(have, want mps.Settings) string {
	return fmt.Sprintf("it has %+v, asked for was %+v", have, want)
}

// begin starts a daemon, unless another caller has.
func (s *Supervisor) begin(id string, want mps.Settings) (*daemon, error) {
	if why := s.unable(); why != "" {
		return nil, api.Errorf(api.Unavailable, "MPS daemon %s cannot be started: the supervisor %s", id, why)
	}
	d := s.daemon(id)
	d.settings = want
	d.shown = mps.State{Settings: want, Why: "start it"}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil, errShut
	}
	if other := s.daemons[id]; other != nil && !other.isOver() {
		return other, nil
	}
	s.launch(d, d.start)
	return d, nil
}

// find returns the daemon, or nil.
func (s *Supervisor) find(id string) (*daemon, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil, errShut
	}
	d := s.daemons[id]
	if d == nil || d.isOver() {
		return nil, nil
	}
	return d, nil
}

// Stop returns nil when there is nothing of the daemon any more; see
// mps.Client.Stop.
func (s *Supervisor) Stop(id string) error {
	d, err := s.find(id)
	if err != nil {
		return err
	}
	if d == nil {
		// Something of it may be there all the same.
		if d, err = s.bury(id); err != nil {
			return err
		}
	}
	err = d.ask(askStop, mps.Settings{})
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

// bury returns a daemon of which nothing is known, for what may be left of it.
func (s *Supervisor) bury(id string) (*daemon, error) {
	d := s.daemon(id)
	d.leaving, d.idle = true, true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil, errShut
	}
	if other := s.daemons[id]; other != nil && !other.isOver() {
		return other, nil
	}
	s.launch(d, d.stuck)
	return d, nil
}

// Pause ends all daemons until Resume.
func (s *Supervisor) Pause(why string) error {
	if err := s.records.pause(why); err != nil {
		return err
	}
	return s.askAll(askPause)
}

// Resume starts the daemons that are wanted.
func (s *Supervisor) Resume() error {
	if err := s.records.pause(""); err != nil {
		return err
	}
	return s.askAll(askResume)
}

func (s *Supervisor) askAll(k kind) error {
	s.mu.Lock()
	var asked []*daemon
	for _, d := range s.daemons {
		asked = append(asked, d)
	}
	s.mu.Unlock()
	answers := make(chan error, len(asked))
	for _, d := range asked {
		go func() { answers <- d.ask(k, mps.Settings{}) }()
	}
	var errs []error
	for range asked {
		if err := <-answers; err != nil && !errors.Is(err, errOver) {
			errs = append(errs, err)
		}
	}
	s.board.bump()
	return errors.Join(errs...)
}

// Hello says who this is.
func (s *Supervisor) Hello() mps.Hello {
	unable := s.unable()
	return mps.Hello{
		Version: s.cfg.Version, Protocol: mps.Protocol, Instance: s.board.instance, MultiUser: unable == "", Root: s.cfg.HostRoot,
		Unable: unable, DriverVersion: driverVersion(s.cfg.DriverRoot), Notes: s.notes,
	}
}

// List returns what there is to tell once the revision is not the one that is
// known, or when ctx ends.
func (s *Supervisor) List(ctx context.Context, known string) mps.List {
	for {
		revision, changed := s.board.now()
		if revision != known || ctx.Err() != nil {
			return mps.List{Revision: revision, Hello: s.Hello(), Daemons: s.states()}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (s *Supervisor) states() map[string]mps.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]mps.State{}
	for id, d := range s.daemons {
		if st, _, over := d.look(); over == nil {
			out[id] = st
		}
	}
	return out
}

// ability is how often is looked whether what keeps daemons from running is gone.
const ability = 5 * time.Second

func (s *Supervisor) watchAbility(ctx context.Context) {
	was := s.unable()
	tick := time.NewTicker(ability)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := s.unable(); now != was {
			was = now
			s.board.bump()
		}
	}
}
