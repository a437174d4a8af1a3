// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// session is one client of a server. The server's lock guards it.
type session struct {
	w        *wire
	pid, uid int // as the server sees them; pid is 0 when it cannot
	name     string
	contexts []int // one for each device, in the order of devices
	devices  []Grant
	lost     sim.CUDAError // what it was told; it does nothing more
}

// Join is how a client begins with a server.
type Join struct {
	Devices []string `json:"devices"` // UUIDs of those that it sees
	Name    string   `json:"name"`
	Cgroups []uint64 `json:"cgroups,omitempty"`
	// ThreadPercentage and Limits are the client's own wishes, 0 and nothing for
	// none. A limit is in MiB, by UUID.
	ThreadPercentage float64           `json:"threadPercentage,omitempty"`
	Limits           map[string]uint64 `json:"limits,omitempty"`
}

// Grant is a device as a client of a server has it.
type Grant struct {
	UUID             string  `json:"uuid"`
	LimitMiB         uint64  `json:"limitMiB,omitempty"` // 0 for none
	ThreadPercentage float64 `json:"threadPercentage"`
}

// ask is what a client asks of its server.
type ask struct {
	Join  *Join  `json:"join,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	MiB   uint64 `json:"mib,omitempty"`  // more on that device
	Free  bool   `json:"free,omitempty"` // all that it has there
	Fault bool   `json:"fault,omitempty"`
}

// told is what a server says to a client: in reply, or Lost at any time.
type told struct {
	reply
	Grants []Grant       `json:"grants,omitempty"`
	Lost   sim.CUDAError `json:"lost,omitempty"`
}

func (s *server) accept() {
	for {
		c, err := s.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.log.printf("accepting a client: %v", err)
			time.Sleep(watchPoll) // out of files, say
			continue
		}
		go s.serve(&session{w: newWire(c)})
	}
}

// serve serves a client until it goes.
func (s *server) serve(c *session) {
	defer c.w.Close()
	who, err := peer(c.w.Conn)
	if err != nil {
		s.log.printf("a client that is nobody: %v", err)
		return
	}
	c.pid, c.uid = int(who.Pid), int(who.Uid)
	for {
		var a ask
		if c.w.receive(&a) != nil {
			break
		}
		if c.w.send(s.answer(c, a)) != nil {
			break
		}
		s.tell(nil)
	}
	s.part(c)
	s.tell(nil)
}

func (s *server) answer(c *session, a ask) told {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch {
	case c.lost != "":
		err = c.lost
	case a.Join != nil:
		err = s.join(c, *a.Join)
	case a.Fault:
		s.fault(fmt.Sprintf("client %d", c.pid))
		err = c.lost
	case a.Free:
		err = s.hold(c, a.UUID, func(p *sim.Process) error { p.MemoryMiB = 0; return nil })
	default:
		err = s.allocate(c, a)
	}
	if err != nil {
		return told{reply: failed(err)}
	}
	return told{Grants: c.devices}
}
