// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// grace is how long a daemon may take to end after SIGTERM.
const grace = 10 * time.Second

// NodeAction is something that happens to a node.
type NodeAction string

// The actions. Reboot is a power cut: everything of the node is killed, all
// below /run and every other mount is gone, and what is on disk stays.
const (
	StopKubelet       NodeAction = "stop-kubelet"
	StartKubelet      NodeAction = "start-kubelet"
	RestartKubelet    NodeAction = "restart-kubelet"
	RestartContainerd NodeAction = "restart-containerd"
	Reboot            NodeAction = "reboot"
)

// NodeActions returns all actions.
func NodeActions() []NodeAction {
	return []NodeAction{StopKubelet, StartKubelet, RestartKubelet, RestartContainerd, Reboot}
}

// Node does something to a node, and waits until the node has got over it.
func (c *Cluster) Node(ctx context.Context, name string, action NodeAction) error {
	return c.locked(func() error {
		s, err := c.mustLoad()
		if err != nil {
			return err
		}
		n, err := s.node(name)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := c.act(ctx, s, n, action); err != nil {
			return err
		}
		fmt.Fprintf(c.Progress, "%s of node %s is done after %s\n", action, n.Name, time.Since(start).Round(100*time.Millisecond))
		return nil
	})
}

func (c *Cluster) act(ctx context.Context, s state, n nodeState, action NodeAction) error {
	if action == Reboot {
		if err := c.killAll(n.part(""), c.nodeCgroup(n.NodeSpec)); err != nil {
			return err
		}
		return c.startNode(ctx, s, n)
	}
	root, err := c.runningRoot(n)
	if err != nil {
		return err
	}
	switch action {
	case StopKubelet:
		return c.terminate(n.part(partKubelet))
	case StartKubelet:
		return c.startKubelet(ctx, s, n, root)
	case RestartKubelet:
		if err := c.terminate(n.part(partKubelet)); err != nil {
			return err
		}
		return c.startKubelet(ctx, s, n, root)
	case RestartContainerd:
		if err := c.terminate(n.part(partContainerd)); err != nil {
			return err
		}
		return c.startContainerd(ctx, n, root)
	}
	return fmt.Errorf("node action %q: there are %v", action, NodeActions())
}

// terminate stops one daemon, not its children.
func (c *Cluster) terminate(part string) error {
	p, found, err := c.find(part)
	if err != nil || !found {
		return err
	}
	return machine.Terminate(p, grace)
}

// Exec replaces the calling process by args: on the node, or without one in the
// cluster's network. It returns only if that fails.
func (c *Cluster) Exec(node string, args []string) error {
	s, err := c.mustLoad()
	if err != nil {
		return err
	}
	if node != "" {
		n, err := s.node(node)
		if err != nil {
			return err
		}
		root, err := c.runningRoot(n)
		if err != nil {
			return err
		}
		return root.Exec(c.dir(), n.part(partExec), args)
	}
	gateway, found, err := c.find(partGateway)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("cluster %s has no network of its own: it is a control plane on loopback, or does not run", c.Name)
	}
	return machine.Namespaces{PID: gateway.PID}.Exec(c.dir(), partExec, args)
}

// Kubeconfig returns the path of the admin's kubeconfig file.
func (c *Cluster) Kubeconfig() (string, error) {
	if _, err := c.mustLoad(); err != nil {
		return "", err
	}
	path := c.file(config.AdminKC)
	_, err := os.Stat(path)
	return path, err
}

// Usage says how to use the cluster that runs.
func (c *Cluster) Usage() (string, error) {
	kubeconfig, err := c.Kubeconfig()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`export KUBECONFIG=%s
export PATH=%s:$PATH   # kubectl, helm
logs are in %s; stop it with: cluster down --name %s
`, kubeconfig, filepath.Dir(c.Output.Bin("kubectl")), c.file("logs"), c.Name), nil
}
