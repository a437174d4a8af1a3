// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"os"
	"strings"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
)

// loadTestImages gives the node the images of the tests, if it lacks them.
func (c *Cluster) loadTestImages(n nodeState, root *machine.Namespaces) error {
	have, err := c.ctr(n, root, nil, "images", "list", "--quiet")
	if err != nil {
		return err
	}
	names := "\n" + have
	if strings.Contains(names, "\n"+config.SandboxImage+"\n") && strings.Contains(names, "\n"+config.BusyboxImage+"\n") {
		return nil
	}
	for _, name := range build.ImageNames() {
		if err := c.importImage(n, root, c.Output.Image(name)); err != nil {
			return err
		}
	}
	return nil
}

// importImage passes the tarball through standard input: its path may be covered
// on the node.
func (c *Cluster) importImage(n nodeState, root *machine.Namespaces, tarball string) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := c.ctr(n, root, f, "images", "import", "-"); err != nil {
		return fmt.Errorf("import %s: %w", tarball, err)
	}
	return nil
}

// LoadImage imports an image tarball on one node, or on all if node is empty.
func (c *Cluster) LoadImage(node, tarball string) error {
	return c.locked(func() error {
		s, err := c.mustLoad()
		if err != nil {
			return err
		}
		nodes := s.Nodes
		if node != "" {
			n, err := s.node(node)
			if err != nil {
				return err
			}
			nodes = []nodeState{n}
		}
		for _, n := range nodes {
			root, err := c.runningRoot(n)
			if err != nil {
				return err
			}
			if err := c.importImage(n, root, tarball); err != nil {
				return err
			}
			fmt.Fprintf(c.Progress, "%s is on node %s\n", tarball, n.Name)
		}
		return nil
	})
}

// runningRoot returns the namespaces of a node that has to run.
func (c *Cluster) runningRoot(n nodeState) (*machine.Namespaces, error) {
	holder, found, err := c.find(n.part(partRoot))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("node %s does not run: `cluster node reboot --name %s %s` starts it", n.Name, c.Name, n.Name)
	}
	return c.inside(n, holder.PID), nil
}
