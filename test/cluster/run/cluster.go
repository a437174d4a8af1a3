// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// Cluster is a cluster by name, whether it runs or not.
type Cluster struct {
	Name     string
	Output   build.Output
	Self     string    // this program, which is also the gateway and the nodes' roots
	Progress io.Writer // what is done and how long it took
}

// New returns the cluster of that name, which need not exist.
func New(name string, output build.Output, progress io.Writer) (*Cluster, error) {
	if !clusterName.MatchString(name) {
		return nil, fmt.Errorf("cluster name %q: use up to 40 lower case letters, digits and '-'", name)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	out, err := filepath.Abs(string(output))
	if err != nil {
		return nil, err
	}
	return &Cluster{Name: name, Output: build.Output(out), Self: self, Progress: progress}, nil
}

// Names returns the names of all clusters below the output directory.
func Names(output build.Output) ([]string, error) {
	entries, err := os.ReadDir(output.Run(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && clusterName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (c *Cluster) dir() string { return c.Output.Run(c.Name) }

func (c *Cluster) file(name string) string { return filepath.Join(c.dir(), name) }

// cgroup is the control group below which the containers of all its nodes are.
// Clusters of one name in two output directories must not share it.
func (c *Cluster) cgroup() string {
	sum := sha256.Sum256([]byte(c.dir()))
	return "/cotenant-" + c.Name + "-" + hex.EncodeToString(sum[:4])
}

func (c *Cluster) lock() (*machine.Lock, error) {
	return machine.TakeLock(c.Output.Run("." + c.Name + ".lock"))
}

// locked runs work while no other command works on the cluster.
func (c *Cluster) locked(work func() error) error {
	lock, err := c.lock()
	if err != nil {
		return err
	}
	err = work()
	if _, gone := os.Stat(c.dir()); errors.Is(gone, fs.ErrNotExist) {
		return errors.Join(err, lock.Remove())
	}
	return errors.Join(err, lock.Release())
}

// Parts of a cluster, as its processes are marked.
const (
	partGateway    = "gateway"
	partEtcd       = "etcd"
	partAPIServer  = "kube-apiserver"
	partManager    = "kube-controller-manager"
	partScheduler  = "kube-scheduler"
	partExec       = "exec"
	partRoot       = "root"
	partContainerd = "containerd"
	partKubelet    = "kubelet"
)

// part names a part of a node.
func (n NodeSpec) part(name string) string { return "node/" + n.Name + "/" + name }

// find returns the process that is the part. A part may have children with the
// same mark, as containerd its shims; the process is the one whose parent is not
// marked so.
func (c *Cluster) find(part string) (machine.Process, bool, error) {
	all, err := machine.Processes("/proc")
	if err != nil {
		return machine.Process{}, false, err
	}
	marked := all.Of(c.dir(), func(p string) bool { return p == part })
	byPID := map[int]bool{}
	for _, p := range marked {
		byPID[p.PID] = true
	}
	for _, p := range marked {
		// A shim is left to the machine's init by design: it is recognised by its program.
		if !byPID[p.Parent] && !isShim(p.PID) {
			return p, true, nil
		}
	}
	return machine.Process{}, false, nil
}

func isShim(pid int) bool {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && strings.HasPrefix(string(comm), "containerd-shim")
}

// ensure starts a daemon unless its part runs, and waits until it is ready.
func (c *Cluster) ensure(ctx context.Context, d machine.Daemon, ready condition) error {
	_, found, err := c.find(d.Part)
	if err != nil {
		return err
	}
	start := time.Now()
	var running *machine.Running
	if !found {
		d.Dir = c.dir()
		if err := os.MkdirAll(filepath.Dir(d.Log), 0o755); err != nil {
			return err
		}
		if running, err = d.Start(); err != nil {
			return err
		}
	}
	if err := await(ctx, d.Part, d.Log, running, ready); err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(c.Progress, "%s is up after %s\n", d.Part, time.Since(start).Round(100*time.Millisecond))
	}
	return nil
}

func (c *Cluster) log(name string) string { return c.file("logs/" + name + ".log") }
