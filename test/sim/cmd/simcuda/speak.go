// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// event is a line that this program says.
type event struct {
	// Event is "list", "started", "allocated", "freed", or "lost" when a context is gone.
	Event string `json:"event"`
	PID   int    `json:"pid,omitempty"` // in this PID namespace
	UID   *int   `json:"uid,omitempty"`
	// MPS is there when the contexts are those of an MPS client.
	MPS *mpsClient `json:"mps,omitempty"`
	// Outside says why they are not.
	Outside string        `json:"outsideMPS,omitempty"`
	Devices []device      `json:"devices,omitempty"`
	Error   sim.CUDAError `json:"error,omitempty"`
	Message string        `json:"message,omitempty"`
}

type mpsClient struct {
	Server        int    `json:"server"` // PID, as the daemon sees it
	PipeDirectory string `json:"pipeDirectory"`
}

// speaker says events, each in one write.
type speaker struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *speaker) say(e event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.w.Write(append(b, '\n'))
	return err
}
