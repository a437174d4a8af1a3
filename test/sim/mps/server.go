// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// The states of a server (NVIDIA MPS documentation, get_server_status).
const (
	initializing = "INITIALIZING"
	active       = "ACTIVE"
	faulted      = "FAULT"
)

// serverMiB is what a server holds of each of its GPUs, as nvidia-smi shows it on
// machines with MPS; it differs by driver and part.
const serverMiB = 30

// watchPoll is how soon a server and a client see what became of their contexts.
const watchPoll = 20 * time.Millisecond

// server is a running MPS server.
type server struct {
	brief
	m    *sim.Machine
	self *sim.Client
	log  *logFile
	link *wire
	l    net.Listener

	mu       sync.Mutex // guards what follows; never taken under the machine's lock
	state    string
	clients  []*session
	contexts int  // given so far
	orphan   bool // its daemon has ended
	ending   bool
	finished chan struct{} // closed when it has nothing left to do
}

// Server runs an MPS server for the daemon that started this process. It returns
// when it was told to end, or when its daemon and all its clients have gone.
func Server() error {
	f := os.NewFile(linkFD, "link")
	c, err := net.FileConn(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("this program is started by nvidia-cuda-mps-control: %w", err)
	}
	s := &server{link: newWire(c), state: initializing, finished: make(chan struct{})}
	if err := s.link.receive(&s.brief); err != nil {
		return fmt.Errorf("hearing from the control daemon: %w", err)
	}
	if s.log, err = openLog(s.LogDirectory, "server.log", "Server"); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		s.log.printf("Server exits: %v", err)
		return err
	}
	go s.accept()
	go s.watch()
	<-s.finished
	s.log.printf("Server exits")
	return errors.Join(s.l.Close(), s.self.Leave())
}

// begin takes the devices and listens, under the faults of a start. Orders are
// answered meanwhile.
func (s *server) begin() (err error) {
	if s.m, err = sim.Open(s.Machine); err != nil {
		return err
	}
	if s.self, err = s.m.Enter(); err != nil {
		return err
	}
	go s.obey()
	code := around(s.m, sim.MPSServerStart, s.Devices, func() sim.Code {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err = s.self.Change(s.take); err != nil {
			return sim.Success
		}
		s.l, err = s.listen()
		if err == nil {
			s.state = active
		}
		return sim.Success
	})
	if code != sim.Success {
		return fmt.Errorf("starting: %s", code)
	}
	if err != nil {
		return err
	}
	s.tell(nil)
	return nil
}

// listen listens for clients. A killed server of the same PID may have left its
// socket there.
func (s *server) listen() (net.Listener, error) {
	path := filepath.Join(s.PipeDirectory, serverSocket+strconv.Itoa(os.Getpid()))
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return listen(path)
}

// take puts the server on each of its devices. There must be all that the daemon
// was given.
func (s *server) take(st *sim.State, e *sim.Entry) error {
	if len(s.Devices) == 0 {
		return errors.New("no device is visible: give the control daemon CUDA_VISIBLE_DEVICES")
	}
	e.Server = &sim.MPSServer{Daemon: s.Daemon, UID: s.UID, Devices: s.Devices}
	for _, uuid := range s.Devices {
		d, err := st.Device(uuid)
		if err != nil {
			return err
		}
		if product, err := sim.LookupProduct(d.GPU.Product); err != nil || s.MultiUser && product.ComputeMajor < 7 {
			return errors.Join(fmt.Errorf("device %s cannot serve several users: that needs compute capability 7.0", uuid), err)
		}
		p := d.At(sim.Process{PID: os.Getpid(), Kind: sim.Compute, Name: "nvidia-cuda-mps-server", Client: s.self.ID(), MemoryMiB: serverMiB, Context: s.next()})
		if err := errors.Join(st.Open(d, p), st.Take(d, p, serverMiB)); err != nil {
			return err
		}
		e.Processes = append(e.Processes, p)
	}
	return nil
}

func (s *server) next() int {
	s.contexts++
	return s.contexts
}

// own reports whether p is the server itself, not a client of it.
func own(p sim.Process) bool { return p.Kind == sim.Compute }

// tell tells the daemon how things stand, with the reply to an order.
func (s *server) tell(r *reply) {
	s.mu.Lock()
	n := notice{Ready: s.state != initializing, Clients: len(s.clients), Reply: r}
	if s.state == initializing || s.ending {
		n.Ready = false
	}
	s.mu.Unlock()
	_ = s.link.send(n) // a daemon that was killed hears nothing
}
