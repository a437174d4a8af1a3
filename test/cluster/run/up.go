// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/config"
)

// Options are what a cluster should have. To a cluster that runs, nodes and
// daemons can be added; the rest must agree with what it has, or be left empty.
type Options struct {
	Version string // empty: build.DefaultVersion
	Nodes   []NodeSpec
	// ControlPlaneOnly starts the control plane on the caller's loopback, without
	// namespaces and without root.
	ControlPlaneOnly bool
	// With are the daemons it then has beside etcd and the API server: kcm,
	// scheduler. With nodes there are always both.
	With          []string
	FeatureGates  string
	RuntimeConfig string
	Keep          bool // leave what was started for inspection if something fails
}

// Up starts what is missing, and waits until the control plane serves and every
// node is ready. If it fails it undoes what it began, unless Keep is set.
func (c *Cluster) Up(ctx context.Context, o Options) error {
	return c.locked(func() error {
		before, existed, err := c.load()
		if err != nil {
			return err
		}
		s, err := c.plan(before, existed, o)
		if err != nil {
			return err
		}
		start := time.Now()
		if err := c.start(ctx, s); err != nil {
			return c.giveUp(err, before, existed, s, o.Keep)
		}
		fmt.Fprintf(c.Progress, "cluster %s is ready after %s\n", c.Name, time.Since(start).Round(100*time.Millisecond))
		return nil
	})
}

func (c *Cluster) start(ctx context.Context, s state) error {
	if err := c.save(s); err != nil {
		return err
	}
	if _, err := c.authority(s); err != nil {
		return err
	}
	if err := c.controlPlane(ctx, s); err != nil {
		return err
	}
	group, nodes := errgroup.WithContext(ctx)
	for _, n := range s.Nodes {
		group.Go(func() error { return c.startNode(nodes, s, n) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return c.accounts(ctx, s)
}

// plan returns what the cluster shall be, or why it cannot be that.
func (c *Cluster) plan(s state, existed bool, o Options) (state, error) {
	s.Nodes = slices.Clone(s.Nodes)
	var err error
	if existed {
		err = agree(s, o)
	} else {
		s, err = c.newState(o)
	}
	if err != nil {
		return s, err
	}
	if s.Loopback && len(o.Nodes) > 0 {
		return s, fmt.Errorf("a control plane on loopback has no nodes: leave out --control-plane-only or --node")
	}
	for _, name := range o.With {
		if extraDaemons[name] == "" {
			return s, fmt.Errorf("--with %q: there are kcm and scheduler", name)
		}
		if !s.with(name) {
			s.With = append(slices.Clip(s.With), name)
		}
	}
	for _, n := range o.Nodes {
		if err := s.addNode(n); err != nil {
			return s, err
		}
	}
	return s, c.preflight(s)
}

func (c *Cluster) newState(o Options) (state, error) {
	version := o.Version
	if version == "" {
		version = build.DefaultVersion
	}
	v, err := build.ParseVersion(version)
	if err != nil {
		return state{}, err
	}
	if _, err := config.ParseFeatureGates(o.FeatureGates); err != nil {
		return state{}, err
	}
	s := state{Version: v.String(), Loopback: o.ControlPlaneOnly, FeatureGates: o.FeatureGates, RuntimeConfig: o.RuntimeConfig}
	ports, err := freePorts()
	if err != nil {
		return state{}, err
	}
	s.Ports, s.Published = ports, ports.API
	if !s.Loopback {
		s.With = []string{"kcm", "scheduler"}
		s.Ports.API = config.APIPort
	}
	return s, nil
}

// agree says whether the options fit a cluster that exists.
func agree(s state, o Options) error {
	differs := func(what, has, wanted string) error {
		return fmt.Errorf("the cluster has %s %q, not %q: stop it first, or choose another name", what, has, wanted)
	}
	switch {
	case o.Version != "" && o.Version != s.Version && o.Version != "v"+s.Version:
		return differs("version", s.Version, o.Version)
	case o.ControlPlaneOnly != s.Loopback:
		return differs("control-plane-only", fmt.Sprint(s.Loopback), fmt.Sprint(o.ControlPlaneOnly))
	case o.FeatureGates != "" && o.FeatureGates != s.FeatureGates:
		return differs("feature gates", s.FeatureGates, o.FeatureGates)
	case o.RuntimeConfig != "" && o.RuntimeConfig != s.RuntimeConfig:
		return differs("runtime config", s.RuntimeConfig, o.RuntimeConfig)
	}
	return nil
}

// preflight looks at what has to be there before anything is started.
func (c *Cluster) preflight(s state) error {
	version, err := build.ParseVersion(s.Version)
	if err != nil {
		return err
	}
	files := []string{c.Output.Kube(version)}
	if !s.Loopback {
		if os.Geteuid() != 0 {
			return fmt.Errorf("a cluster with nodes needs root, for namespaces and mounts; --control-plane-only does not")
		}
		files = append(files, c.Output.Bin("containerd"), c.Output.Bin("containerd-shim-runc-v2"), c.Output.Bin("ctr"))
		for _, name := range build.ImageNames() {
			files = append(files, c.Output.Image(name))
		}
	}
	for _, n := range s.Nodes {
		if n.Sim == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(n.Sim, "root")); err != nil || !info.IsDir() {
			return fmt.Errorf("node %s: %s is no state directory of a simulated GPU machine: it has no directory `root`", n.Name, n.Sim)
		}
	}
	return c.Output.Have(version, files...)
}

func (c *Cluster) mkdirFor(path string) error { return os.MkdirAll(filepath.Dir(path), 0o755) }
