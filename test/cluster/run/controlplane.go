// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// The daemons that a control plane has beside etcd and the API server.
var extraDaemons = map[string]string{"kcm": partManager, "scheduler": partScheduler}

// settings returns the control plane's configuration.
func (c *Cluster) settings(s state) config.ControlPlane {
	cp := config.ControlPlane{
		Dir: c.dir(), Ports: s.Ports, FeatureGates: s.FeatureGates, RuntimeConfig: s.RuntimeConfig,
		Advertise: config.ControlPlaneIP,
	}
	if s.Loopback {
		cp.Bind = "127.0.0.1"
	} else {
		cp.Bind, cp.Endpoints = "0.0.0.0", true
	}
	return cp
}

// controlPlane starts what of the control plane does not run.
func (c *Cluster) controlPlane(ctx context.Context, s state) error {
	in, err := c.network(s)
	if err != nil {
		return err
	}
	version, err := build.ParseVersion(s.Version)
	if err != nil {
		return err
	}
	settings, kube := c.settings(s), c.Output.Kube(version)
	daemon := func(part string, args []string) machine.Daemon {
		return machine.Daemon{Part: part, Log: c.log(part), Args: append([]string{kube, part}, args...), In: in}
	}
	// The API server keeps trying until etcd serves, so nobody waits for etcd.
	if err := c.ensure(ctx, daemon(partEtcd, settings.Etcd()), started); err != nil {
		return err
	}
	client, err := dialAPI(c.file(config.AdminKC))
	if err != nil {
		return err
	}
	defer client.close()
	if err := c.ensure(ctx, daemon(partAPIServer, settings.APIServer()), client.ready); err != nil {
		return fmt.Errorf("%w\n%s", err, c.etcdEnd())
	}
	arguments := map[string][]string{"kcm": settings.ControllerManager(), "scheduler": settings.Scheduler()}
	for _, name := range s.With {
		if err := c.ensure(ctx, daemon(extraDaemons[name], arguments[name]), started); err != nil {
			return err
		}
	}
	return nil
}

// accounts waits until pods can be created. The controller manager takes longer
// for it than a node for its start, so it comes after the nodes.
func (c *Cluster) accounts(ctx context.Context, s state) error {
	if !s.with("kcm") {
		return nil // nobody makes service accounts
	}
	client, err := dialAPI(c.file(config.AdminKC))
	if err != nil {
		return err
	}
	defer client.close()
	return await(ctx, partManager, c.log(partManager), nil, client.accounts)
}

// started is the condition of a daemon that needs no waiting for.
func started(context.Context) error { return nil }

func (c *Cluster) etcdEnd() string {
	return fmt.Sprintf("the end of %s:\n%s", c.log(partEtcd), machine.Tail(c.log(partEtcd), 10))
}

// network makes sure that the cluster's network namespace exists, and returns
// it; nil for a control plane on the caller's loopback.
func (c *Cluster) network(s state) (*machine.Namespaces, error) {
	if s.Loopback {
		return nil, nil
	}
	gateway, found, err := c.find(partGateway)
	if err != nil {
		return nil, err
	}
	if found {
		return &machine.Namespaces{PID: gateway.PID}, nil
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", s.Published))
	if err != nil {
		return nil, fmt.Errorf("publish the API server: %w", err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	d := machine.Daemon{
		Part:          partGateway,
		Args:          []string{c.Self, "internal", "gateway"},
		Files:         []*os.File{socket},
		NewNamespaces: syscall.CLONE_NEWNET,
	}
	running, err := c.hold(d)
	if err != nil {
		return nil, err
	}
	return &machine.Namespaces{PID: running.PID}, nil
}

// hold starts a process of this program that makes namespaces and keeps them,
// and waits until it says, on its last descriptor, that they are made.
func (c *Cluster) hold(d machine.Daemon) (*machine.Running, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	d.Dir, d.Log = c.dir(), c.log(d.Part)
	d.Files = append(d.Files, write)
	if err := c.mkdirFor(d.Log); err != nil {
		write.Close()
		return nil, err
	}
	running, err := d.Start()
	write.Close()
	if err != nil {
		return nil, err
	}
	answer := make([]byte, 1)
	if n, _ := read.Read(answer); n == 1 {
		return running, nil
	}
	// It closed the pipe without a word, so it is ending.
	select {
	case <-running.Done():
		return nil, running.Failure()
	case <-time.After(10 * time.Second):
		return nil, fmt.Errorf("%s gave no sign of being ready and did not end; see %s", d.Part, d.Log)
	}
}

// freePorts returns the ports of a control plane on the caller's loopback.
func freePorts() (config.Ports, error) {
	var p config.Ports
	wanted := []*int{&p.API, &p.Etcd, &p.EtcdPeer, &p.ControllerManager, &p.Scheduler}
	var listeners []net.Listener
	var errs error
	for _, port := range wanted { // all at once, so that they differ
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("find a free port: %w", err))
			break
		}
		*port = l.Addr().(*net.TCPAddr).Port
		listeners = append(listeners, l)
	}
	for _, l := range listeners {
		errs = errors.Join(errs, l.Close())
	}
	return p, errs
}
