// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package mps

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a server as its daemon knows it. The daemon's lock guards ready and
// clients.
type child struct {
	cmd  *exec.Cmd
	uid  int
	link *wire

	ready   bool // it has its devices and takes clients
	clients int

	asking  sync.Mutex // one order at a time
	replies chan reply // closed when it has ended
}

// brief is the first message to a server.
type brief struct {
	Machine       string   `json:"machine"`
	PipeDirectory string   `json:"pipeDirectory"`
	LogDirectory  string   `json:"logDirectory"`
	Devices       []string `json:"devices"`
	Daemon        int      `json:"daemon"`
	UID           int      `json:"uid"`
	MultiUser     bool     `json:"multiUser"`
	Settings      settings `json:"settings"`
}

// notice is what a server says by itself, or in reply to an order.
type notice struct {
	Ready   bool   `json:"ready"`
	Clients int    `json:"clients"`
	Reply   *reply `json:"reply,omitempty"`
}

// linkFD is the file descriptor by which a server is linked to its daemon.
const linkFD = 3

// start starts a server. It is not ready when start returns. The lock is held.
func (d *daemon) start(uid int) error {
	link, far, err := socketPair()
	if err != nil {
		return err
	}
	defer far.Close()
	cmd := exec.Command(d.ServerProgram)
	cmd.ExtraFiles = []*os.File{far}
	// A session of its own: what ends the daemon's does not end it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("starting a server: %w", err), link.Close())
	}
	srv := &child{cmd: cmd, uid: uid, link: newWire(link), replies: make(chan reply)}
	d.server = srv
	d.log.printf("Starting new server %d for user %d", srv.pid(), uid)
	go d.follow(srv)
	return srv.link.send(brief{
		Machine: d.Machine, PipeDirectory: d.PipeDirectory, LogDirectory: d.LogDirectory, Devices: d.Devices,
		Daemon: os.Getpid(), UID: uid, MultiUser: d.MultiUser, Settings: d.defaults.clone(),
	})
}

// follow hears a server until it ends.
func (d *daemon) follow(srv *child) {
	for {
		var n notice
		if srv.link.receive(&n) != nil {
			break
		}
		d.mu.Lock()
		if n.Ready && !srv.ready {
			d.log.printf("NEW SERVER %d: Ready", srv.pid())
		}
		srv.ready, srv.clients = n.Ready, n.Clients
		d.changed.Broadcast()
		d.mu.Unlock()
		if n.Reply != nil {
			srv.replies <- *n.Reply
		}
	}
	close(srv.replies)
	err := srv.cmd.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log.printf("Server %d exited: %v", srv.pid(), err)
	d.server = nil
	d.changed.Broadcast()
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// end asks a server to end unless it has clients. It is not waited for.
func (c *child) end() {
	go func() { _, _ = c.ask([]string{orderEnd}) }() // one with clients says so by its next notice
}

// ask gives a server an order and returns its reply.
func (c *child) ask(order []string) (string, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if err := c.link.send(order); err != nil {
		return "", fmt.Errorf("server %d does not listen: %w", c.pid(), err)
	}
	r, ok := <-c.replies
	if !ok {
		return "", fmt.Errorf("server %d has ended", c.pid())
	}
	return r.Text, r.err()
}

// socketPair is a connection with one end to give to a child.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	near, far := os.NewFile(uintptr(fds[0]), "near"), os.NewFile(uintptr(fds[1]), "far")
	defer near.Close()
	c, err := net.FileConn(near)
	if err != nil {
		return nil, nil, errors.Join(err, far.Close())
	}
	return c, far, nil
}
