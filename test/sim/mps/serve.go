// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// accept serves the control socket.
func (d *daemon) accept() {
	for {
		c, err := d.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			d.log.printf("accepting a connection: %v", err)
			time.Sleep(watchPoll) // out of files, say
			continue
		}
		go d.serve(newWire(c))
	}
}

// serve answers one connection: as many commands as come, or one client.
func (d *daemon) serve(w *wire) {
	defer w.Close()
	who, err := peer(w.Conn)
	if err != nil {
		d.log.printf("a connection of nobody: %v", err)
		return
	}
	for {
		var r request
		if w.receive(&r) != nil {
			return
		}
		if d.answer(w, r, who) != nil {
			return
		}
	}
}

func (d *daemon) answer(w *wire, r request, who unix.Ucred) error {
	if r.Client {
		return w.send(d.welcome(int(who.Pid), int(who.Uid)))
	}
	if len(r.Command) > 0 && r.Command[0] == "quit" {
		// The process stays until it has said that it has quit.
		d.last.Add(1)
		defer d.last.Done()
	}
	return w.send(d.obey(r.Command))
}

// welcome sends a client to its server, which may have to be started first.
func (d *daemon) welcome(pid, uid int) reply {
	d.log.printf("NEW CLIENT %d from user %d", pid, uid)
	srv, err := d.serverOf(uid)
	if err != nil {
		d.log.printf("client %d gets no server: %v", pid, err)
		return failed(err)
	}
	return reply{Server: srv.pid()}
}

// errQuitting is what a client hears of a daemon that is about to end.
var errQuitting = fmt.Errorf("the control daemon is quitting: %w", sim.CUDAConnectionFailed)

// serverOf is the server for a user, once it is ready. It waits until another
// user's has ended, which is told to end as soon as it has no clients.
func (d *daemon) serverOf(uid int) (*child, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.MultiUser {
		uid = os.Geteuid()
	} else if me := os.Geteuid(); me != 0 && uid != me {
		return nil, fmt.Errorf("a daemon of user %d serves no user %d: %w", me, uid, sim.CUDAConnectionFailed)
	}
	for {
		switch srv := d.server; {
		case d.quitting:
			return nil, errQuitting
		case srv == nil:
			if err := d.start(uid); err != nil {
				return nil, err
			}
		case srv.uid != uid:
			d.wait(srv)
		case srv.ready:
			return srv, nil
		default:
			for d.server == srv && !srv.ready {
				d.changed.Wait()
			}
			if d.server != srv && !srv.ready {
				return nil, fmt.Errorf("server %d has died: %w", srv.pid(), sim.CUDAConnectionFailed)
			}
		}
	}
}

// wait waits for a change of another user's server and has it end when it may.
func (d *daemon) wait(srv *child) {
	if srv.ready && srv.clients == 0 {
		srv.end()
	}
	d.waiting++
	d.changed.Wait()
	d.waiting--
}

// quit ends the daemon: its server when it has no clients left, or after that
// time in any case; never by force when it is negative.
func (d *daemon) quit(after time.Duration) {
	d.mu.Lock()
	if d.quitting {
		d.mu.Unlock()
		<-d.done
		return
	}
	d.quitting = true
	d.changed.Broadcast()
	forced := false
	if after >= 0 {
		t := time.AfterFunc(after, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			forced = true
			d.changed.Broadcast()
		})
		defer t.Stop()
	}
	for d.server != nil {
		switch srv := d.server; {
		case forced:
			_ = srv.cmd.Process.Kill() // it may have ended by itself
		case srv.ready && srv.clients == 0:
			srv.end()
		}
		d.changed.Wait()
	}
	d.mu.Unlock()
	d.log.printf("Exit")
	if err := errors.Join(d.l.Close(), d.unclaim()); err != nil {
		d.log.printf("leaving %s: %v", d.PipeDirectory, err)
	}
	close(d.done)
}
