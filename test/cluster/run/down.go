// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// Down stops the cluster, started in full, in part or not at all, and removes
// all there is of it: processes, containers, control groups, mounts and files.
// The network and mount namespaces end with their processes.
func (c *Cluster) Down() error {
	return c.locked(func() error {
		if err := c.remove(); err != nil {
			return err
		}
		fmt.Fprintf(c.Progress, "cluster %s is gone\n", c.Name)
		return nil
	})
}

func (c *Cluster) remove() error {
	if err := c.killAll("", c.cgroup()); err != nil {
		return err
	}
	// No mount of a cluster is made here, but removing files below one would
	// remove what is mounted.
	if err := machine.UnmountBelow(c.dir()); err != nil {
		return err
	}
	return os.RemoveAll(c.dir())
}

// killAll kills the cluster's processes whose part begins with prefix, what is
// below them, and what is in the control group; then removes that.
func (c *Cluster) killAll(prefix, cgroup string) error {
	mounts, err := machine.ReadMounts()
	if err != nil {
		return err
	}
	groups := machine.ReadCgroups(mounts)
	err = machine.KillAll(func() (machine.Table, error) {
		members, err := groups.Members(cgroup)
		if err != nil {
			return nil, err
		}
		all, err := machine.Processes("/proc")
		if err != nil {
			return nil, err
		}
		ours := all.Of(c.dir(), func(part string) bool { return strings.HasPrefix(part, prefix) })
		return ours.With(all, members), nil
	})
	if err != nil {
		return err
	}
	return groups.Remove(cgroup, time.Now().Add(10*time.Second))
}

// removeNode kills all of a node and removes its files.
func (c *Cluster) removeNode(n nodeState) error {
	if err := c.killAll(n.part(""), c.nodeCgroup(n.NodeSpec)); err != nil {
		return err
	}
	dir := c.nodeFile(n, "")
	if err := machine.UnmountBelow(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// giveUp undoes what a failed Up began: the whole cluster, or the nodes that
// were added to one that ran. It returns what went wrong.
func (c *Cluster) giveUp(cause error, before state, existed bool, s state, keep bool) error {
	if keep {
		return fmt.Errorf("%w\nkept for inspection in %s; `cluster down --name %s` removes it", cause, c.dir(), c.Name)
	}
	if !existed {
		return errors.Join(cause, c.remove())
	}
	errs := cause
	for _, n := range s.Nodes {
		if _, err := before.node(n.Name); err != nil {
			errs = errors.Join(errs, c.removeNode(n))
		}
	}
	return errors.Join(errs, c.save(before))
}
