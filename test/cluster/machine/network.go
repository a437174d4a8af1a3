// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
)

// AddLoopback gives the loopback interface of the caller's network namespace an
// address and brings it up. An address that is there already is no error.
func AddLoopback(addresses ...string) error {
	lines := [][]string{{"link", "set", "lo", "up"}}
	for _, a := range addresses {
		lines = append(lines, []string{"address", "replace", a + "/32", "dev", "lo"})
	}
	for _, args := range lines {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %q: %w: %s", args, err, out)
		}
	}
	return nil
}

// EnableForwarding lets the caller's network namespace pass packets on, as pods
// of one node to those of another.
func EnableForwarding() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("let the cluster's network forward packets: %w", err)
	}
	return nil
}

// Forward passes each connection that listener accepts on to target, until the
// listener is closed. The two may be in different network namespaces: a socket
// stays in the one it was made in. A target that does not answer costs that
// connection only.
func Forward(listener net.Listener, target string) error {
	for {
		from, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept on %s: %w", listener.Addr(), err)
		}
		go forward(from.(*net.TCPConn), target)
	}
}

func forward(from *net.TCPConn, target string) {
	defer from.Close()
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	to := conn.(*net.TCPConn)
	defer to.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(to, from)
	}()
	pass(from, to)
	<-done
}

// pass copies one direction and hands its end on, so that a side which has
// finished speaking still hears the other. After an error the other direction
// ends too, or it might wait for ever.
func pass(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	to.CloseWrite()
}
