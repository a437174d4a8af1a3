// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// Config is what a control daemon is started with.
type Config struct {
	Machine       string   // directory of the simulated machine
	PipeDirectory string   // made when it is missing
	LogDirectory  string   // made when it is missing
	Devices       []string // UUIDs; their positions are the devices of commands
	MultiUser     bool     // one server takes the clients of all users
	// ServerProgram is the path of nvidia-cuda-mps-server.
	ServerProgram string
}

// daemon is a running control daemon.
type daemon struct {
	Config
	m    *sim.Machine
	self *sim.Client
	log  *logFile
	l    net.Listener

	mu       sync.Mutex
	changed  *sync.Cond // of what follows
	defaults settings
	server   *child // the one there is, nil for none
	waiting  int    // clients of other users than the server's
	quitting bool
	done     chan struct{}  // closed when it has quit
	last     sync.WaitGroup // of who told it to
}

// Control runs a control daemon until it is told to quit or ctx is done. ready is
// called when it takes commands.
func Control(ctx context.Context, cfg Config, ready func()) error {
	m, err := sim.Open(cfg.Machine)
	if err != nil {
		return err
	}
	d := &daemon{Config: cfg, m: m, defaults: defaults(), done: make(chan struct{})}
	d.changed = sync.NewCond(&d.mu)
	if d.log, err = openLog(cfg.LogDirectory, "control.log", "Control"); err != nil {
		return err
	}
	if err := d.claim(); err != nil {
		d.log.printf("%v", err)
		return err
	}
	if err := d.begin(); err != nil {
		d.log.printf("%v", err)
		return errors.Join(err, d.unclaim())
	}
	ready()
	go d.accept()
	go d.watch()
	select {
	case <-ctx.Done():
		d.quit(0)
	case <-d.done:
	}
	d.last.Wait()
	return nil
}

// begin becomes known to the machine and listens, under the faults of a start.
func (d *daemon) begin() (err error) {
	if d.self, err = d.m.Enter(); err != nil {
		return err
	}
	err = d.self.Change(func(_ *sim.State, e *sim.Entry) error {
		e.Daemon = &sim.MPSDaemon{Devices: d.Devices, PipeDirectory: d.PipeDirectory, MultiUser: d.MultiUser}
		return nil
	})
	if err != nil {
		return err
	}
	code := around(d.m, sim.MPSControlStart, d.Devices, func() sim.Code {
		err = d.listen()
		return sim.Success
	})
	if code != sim.Success {
		return fmt.Errorf("starting the control daemon: %s", code)
	}
	return err
}

func (d *daemon) listen() (err error) {
	d.log.printf("Starting control daemon using socket %s", d.path(controlSocket))
	d.l, err = listen(d.path(controlSocket))
	return err
}

// watch ends the daemon as a power cut does when the machine reboots.
func (d *daemon) watch() {
	for {
		gone, err := d.m.Watch(math.MaxInt64, d.self.Gone)
		if gone || err != nil {
			d.abort()
		}
	}
}

// abort ends the daemon and its server at once; nothing is tidied up.
func (d *daemon) abort() {
	d.mu.Lock()
	if d.server != nil {
		_ = d.server.cmd.Process.Kill() // it may have ended by itself
	}
	os.Exit(1)
}

// devicesAt names the devices with their positions.
func (d *daemon) devicesAt() []string {
	var out []string
	for i, uuid := range d.Devices {
		out = append(out, strconv.Itoa(i)+": "+uuid)
	}
	return slices.Clip(out)
}
