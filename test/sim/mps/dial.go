// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// ErrNoDaemon says that no control daemon answers, so that a client goes on
// outside MPS, as one does whose server dies under its hello.
var ErrNoDaemon = errors.New("no MPS control daemon answers")

// Conn is a CUDA client's connection to its MPS server. It is safe for concurrent use.
type Conn struct {
	Server int // PID, as the daemon sees it
	Grants []Grant

	w       *wire
	mu      sync.Mutex // one question at a time
	answers chan told
	lost    chan sim.CUDAError
}

// Dial makes this process a client of the daemon at a pipe directory. It waits as
// long as another user's server keeps the devices.
func Dial(pipeDirectory string, j Join) (*Conn, error) {
	pid, err := hello(pipeDirectory)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("unix", filepath.Join(pipeDirectory, serverSocket+strconv.Itoa(pid)))
	if err != nil {
		return nil, fmt.Errorf("%w: server %d: %w", ErrNoDaemon, pid, err)
	}
	conn := &Conn{Server: pid, w: newWire(c), answers: make(chan told), lost: make(chan sim.CUDAError, 1)}
	go conn.hear()
	a, err := conn.ask(ask{Join: &j})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	conn.Grants = a.Grants
	return conn, nil
}

// hello asks the daemon for a server.
func hello(pipeDirectory string) (pid int, err error) {
	c, err := net.Dial("unix", filepath.Join(pipeDirectory, controlSocket))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	w := newWire(c)
	defer w.Close()
	var a reply
	if err := errors.Join(w.send(request{Client: true}), w.receive(&a)); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	if err := a.err(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	return a.Server, nil
}

// hear reads what the server says until it ends.
func (c *Conn) hear() {
	defer close(c.answers)
	for {
		var t told
		if c.w.receive(&t) != nil {
			c.lose(sim.CUDARPCFailure)
			return
		}
		if t.Lost != "" {
			c.lose(t.Lost)
			continue
		}
		c.answers <- t
	}
}

func (c *Conn) lose(err sim.CUDAError) {
	select {
	case c.lost <- err:
	default: // it is told once
	}
}

// Lost receives the error that ended the client's contexts.
func (c *Conn) Lost() <-chan sim.CUDAError { return c.lost }

func (c *Conn) ask(a ask) (told, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.w.send(a); err != nil {
		return told{}, fmt.Errorf("%w: %w", sim.CUDARPCFailure, err)
	}
	t, ok := <-c.answers
	if !ok {
		return told{}, fmt.Errorf("the MPS server has ended: %w", sim.CUDARPCFailure)
	}
	return t, t.err()
}

// Allocate takes miB more of a device.
func (c *Conn) Allocate(uuid string, miB uint64) error {
	_, err := c.ask(ask{UUID: uuid, MiB: miB})
	return err
}

// Free gives back what the client has of a device.
func (c *Conn) Free(uuid string) error {
	_, err := c.ask(ask{UUID: uuid, Free: true})
	return err
}

// Fault makes a fatal fault, which ends all clients of the server.
func (c *Conn) Fault() error {
	_, err := c.ask(ask{Fault: true})
	return err
}

// Close ends the client's part.
func (c *Conn) Close() error { return c.w.Close() }
