// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// The files in a pipe directory.
const (
	controlSocket = "control"
	pidFile       = "nvidia-cuda-mps-control.pid"
	serverSocket  = "nvidia-cuda-mps-server."
)

// request is what is said to the control socket: a command or a client's hello.
type request struct {
	Command []string `json:"command,omitempty"`
	Client  bool     `json:"client,omitempty"`
}

// reply answers a request, or an order to a server.
type reply struct {
	Text  string        `json:"text,omitempty"`
	Error string        `json:"error,omitempty"`
	CUDA  sim.CUDAError `json:"cuda,omitempty"` // for a client
	// Server is the PID of the server that a client shall talk to.
	Server int `json:"server,omitempty"`
}

func (r reply) err() error {
	switch {
	case r.CUDA != "":
		return fmt.Errorf("%s: %w", strings.TrimSuffix(strings.TrimSuffix(r.Error, string(r.CUDA)), ": "), r.CUDA)
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// saying is an error in the words of the real program.
type saying string

func (s saying) Error() string { return string(s) }

// failed is the reply that tells err.
func failed(err error) reply {
	r := reply{Error: err.Error()}
	_ = errors.As(err, &r.CUDA) // not every error is one of CUDA's
	return r
}

// wire carries messages over a connection. Sending is safe for concurrent use.
type wire struct {
	net.Conn
	mu  sync.Mutex
	enc *json.Encoder
	dec *json.Decoder
}

func newWire(c net.Conn) *wire {
	return &wire{Conn: c, enc: json.NewEncoder(c), dec: json.NewDecoder(c)}
}

func (w *wire) send(v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enc.Encode(v)
}

func (w *wire) receive(v any) error { return w.dec.Decode(v) }

// peer is who is at the other end, as seen from this PID namespace: PID 0 when
// that process is in none that can be seen from here.
func peer(c net.Conn) (unix.Ucred, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return unix.Ucred{}, fmt.Errorf("%T is no unix socket", c)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return unix.Ucred{}, err
	}
	var cred *unix.Ucred
	if cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil {
		return unix.Ucred{}, cerr
	}
	if err != nil {
		return unix.Ucred{}, err
	}
	return *cred, nil
}
