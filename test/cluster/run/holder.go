// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// The descriptors that hold passes: the first is 3.
const firstFile = 3

// Gateway is the process that keeps a cluster's network namespace, into which it
// was born. It passes what arrives at the listener it inherited, whose socket
// belongs to the namespace of the caller of `cluster up`, on to the API server:
// so kubectl works in an ordinary shell.
func Gateway(ctx context.Context) error {
	socket := os.NewFile(firstFile, "published")
	listener, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("the gateway is started by `cluster up` only: %w", err)
	}
	socket.Close()
	if err := machine.AddLoopback(config.ServiceIP, config.DNSIP, config.ControlPlaneIP); err != nil {
		return err
	}
	if err := machine.EnableForwarding(); err != nil {
		return err
	}
	if err := sayReady(firstFile + 1); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	return machine.Forward(listener, fmt.Sprintf("%s:%d", config.ControlPlaneIP, config.APIPort))
}

// NodeRoot is the process that keeps a node's mount namespace, into which it was
// born, and makes it the node's file system.
func NodeRoot(ctx context.Context, root machine.NodeRoot, address string) error {
	if err := machine.AddLoopback(address); err != nil {
		return err
	}
	if err := root.Mount(); err != nil {
		return err
	}
	if err := sayReady(firstFile); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// Join moves the calling process into a control group and replaces it by args.
func Join(cgroup string, args []string) error {
	mounts, err := machine.ReadMounts()
	if err != nil {
		return err
	}
	if err := machine.ReadCgroups(mounts).Join(cgroup); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

func sayReady(fd uintptr) error {
	pipe := os.NewFile(fd, "ready")
	defer pipe.Close()
	if _, err := pipe.Write([]byte{1}); err != nil {
		return fmt.Errorf("report readiness: %w", err)
	}
	return nil
}
