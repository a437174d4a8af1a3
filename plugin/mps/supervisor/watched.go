// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
)

// watched is a server, and a channel that is closed when it has ended.
type watched struct {
	pid  int
	gone chan struct{}
	stop context.CancelFunc
}

func watch(pid int) (*watched, error) {
	p, err := openProcess(pid)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watched{pid: pid, gone: make(chan struct{}), stop: cancel}
	go func() {
		defer p.close()
		if p.wait(ctx) == nil {
			close(w.gone)
		}
	}()
	return w, nil
}

// dismiss ends the watch over a server.
func (d *daemon) dismiss() {
	if d.server != nil {
		d.server.stop()
	}
	d.server = nil
}

// serverGone is nil, which is never ready, when there is no server to watch.
func (d *daemon) serverGone() <-chan struct{} {
	if d.server == nil {
		return nil
	}
	return d.server.gone
}
