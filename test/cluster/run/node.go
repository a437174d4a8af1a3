// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

func (c *Cluster) nodeFile(n nodeState, name string) string {
	return c.file(filepath.Join("nodes", n.Name, name))
}

func (c *Cluster) nodeCgroup(n NodeSpec) string { return c.cgroup() + "/" + n.Name }

// startNode starts what of the node does not run, and waits until its kubelet
// reports it as ready.
func (c *Cluster) startNode(ctx context.Context, s state, n nodeState) error {
	if err := c.configureNode(s, n); err != nil {
		return err
	}
	root, err := c.nodeRoot(s, n)
	if err != nil {
		return err
	}
	if err := c.startContainerd(ctx, n, root); err != nil {
		return err
	}
	if err := c.loadTestImages(n, root); err != nil {
		return err
	}
	return c.startKubelet(ctx, s, n, root)
}

// nodeRoot makes sure that the node's mount namespace exists, and returns it.
func (c *Cluster) nodeRoot(s state, n nodeState) (*machine.Namespaces, error) {
	holder, found, err := c.find(n.part(partRoot))
	if err != nil {
		return nil, err
	}
	if found {
		return c.inside(n, holder.PID), nil
	}
	network, err := c.network(s)
	if err != nil {
		return nil, err
	}
	args := []string{c.Self, "internal", "node",
		"--disk", c.nodeFile(n, "disk"), "--address", config.NodeIP(n.Index)}
	if n.Sim != "" {
		args = append(args, "--sim", n.Sim)
	}
	if err := c.makeCgroup(n); err != nil {
		return nil, err
	}
	// In this order: the control group a process is in when it makes a control
	// group namespace becomes that namespace's root.
	args = append(c.join(c.nodeCgroup(n.NodeSpec)), network.Command(append([]string{"unshare", "--mount", "--cgroup", "--"}, args...))...)
	running, err := c.hold(machine.Daemon{Part: n.part(partRoot), Args: args})
	if err != nil {
		return nil, err
	}
	return c.inside(n, running.PID), nil
}

// inside returns the namespaces of a node, which the process holds.
func (c *Cluster) inside(n nodeState, holder int) *machine.Namespaces {
	return &machine.Namespaces{PID: holder, Join: c.join(c.nodeCgroup(n.NodeSpec) + machine.Init)}
}

// join returns the command line that moves a process into a control group.
func (c *Cluster) join(cgroup string) []string {
	return []string{c.Self, "internal", "join", "--cgroup", cgroup, "--"}
}

func (c *Cluster) makeCgroup(n nodeState) error {
	mounts, err := machine.ReadMounts()
	if err != nil {
		return err
	}
	return machine.ReadCgroups(mounts).Make(c.nodeCgroup(n.NodeSpec))
}

// startContainerd starts the node's containerd and waits until it answers.
func (c *Cluster) startContainerd(ctx context.Context, n nodeState, root *machine.Namespaces) error {
	d := machine.Daemon{
		Part: n.part(partContainerd),
		Log:  c.log(n.part(partContainerd)),
		Args: []string{c.Output.Bin("containerd"), "--config", c.nodeFile(n, "etc/containerd.toml")},
		// containerd looks for its shim in PATH.
		Env: []string{"PATH=" + filepath.Dir(c.Output.Bin("containerd")) + ":" + os.Getenv("PATH")},
		In:  root,
	}
	socket := fmt.Sprintf("/proc/%d/root%s", root.PID, config.ContainerdSocket)
	return c.ensure(ctx, d, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// startKubelet starts the node's kubelet and waits for its report.
func (c *Cluster) startKubelet(ctx context.Context, s state, n nodeState, root *machine.Namespaces) error {
	version, err := build.ParseVersion(s.Version)
	if err != nil {
		return err
	}
	client, err := dialAPI(c.file(config.AdminKC))
	if err != nil {
		return err
	}
	defer client.close()
	d := machine.Daemon{
		Part: n.part(partKubelet),
		Log:  c.log(n.part(partKubelet)),
		Args: append([]string{c.Output.Kube(version), "kubelet"}, c.nodeSettings(s, n).KubeletArgs()...),
		In:   root,
	}
	since := time.Now()
	if _, found, err := c.find(d.Part); err != nil {
		return err
	} else if found {
		since = time.Time{} // any report is this kubelet's
	}
	return c.ensure(ctx, d, client.nodeReady(n.Name, since))
}

// ctr runs the containerd client on a node.
func (c *Cluster) ctr(n nodeState, root *machine.Namespaces, stdin *os.File, args ...string) (string, error) {
	line := append([]string{c.Output.Bin("ctr"), "--address", config.ContainerdSocket, "--namespace", "k8s.io"}, args...)
	line = root.Command(line)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), machine.Mark(c.dir(), n.part(partExec))...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("node %s: ctr %s: %w\n%s", n.Name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
