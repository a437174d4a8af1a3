// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// Node is one node of a lab.
type Node struct {
	Name   string
	Labels map[string]string
	// GPUs are the products of its simulated GPUs; a node without has no driver.
	GPUs []string
	// Driver and CUDA are the versions of its driver.
	Driver, CUDA string
}

// Lab is one cluster. Make it with New, then call Up.
type Lab struct {
	root string // of the repository
	name string
	log  io.Writer

	kubeconfig string
	client     kubernetes.Interface
	machines   map[string]*sim.Machine
}

// New returns the lab of that name. log gets what the tools say.
func New(name string, log io.Writer) (*Lab, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	l := &Lab{root: root, name: name, log: log, machines: map[string]*sim.Machine{}}
	if _, err := os.Stat(l.bin("cluster")); err != nil {
		return nil, fmt.Errorf("%s is missing; run `make lab` first", l.bin("cluster"))
	}
	return l, nil
}

// repository is the directory with our go.mod, at or above the working one.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(raw), "module github.com/cotenant-dev/cotenant\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside the repository")
		}
	}
}

// Out is the directory for what is built and measured.
func (l *Lab) Out() string { return filepath.Join(l.root, "out") }

func (l *Lab) bin(name string) string { return filepath.Join(l.Out(), "bin", name) }

// Tool is the path of kubectl or helm.
func (l *Lab) Tool(name string) string { return filepath.Join(l.Out(), "cluster/bin", name) }

// Path is a path of the repository.
func (l *Lab) Path(rel string) string { return filepath.Join(l.root, rel) }

func (l *Lab) simDir(node string) string {
	return filepath.Join(l.Out(), "lab", l.name, node)
}

// Machine is the simulated machine of a node.
func (l *Lab) Machine(node string) *sim.Machine { return l.machines[node] }

// Client talks to the API server as an admin.
func (l *Lab) Client() kubernetes.Interface { return l.client }

// Up starts the cluster with the nodes, each with our images. What an earlier
// run left is removed first.
func (l *Lab) Up(ctx context.Context, nodes ...Node) error {
	if err := l.Down(ctx); err != nil {
		return err
	}
	args := []string{"up", "--name", l.name}
	for _, n := range nodes {
		arg, err := l.prepare(n)
		if err != nil {
			return err
		}
		args = append(args, "--node", arg)
	}
	if _, err := l.cluster(ctx, args...); err != nil {
		return err
	}
	if err := l.connect(ctx); err != nil {
		return err
	}
	for _, image := range []string{"plugin", "controller", "mps"} {
		if _, err := l.cluster(ctx, "load-image", "--name", l.name, filepath.Join(l.Out(), "images", image+".tar")); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the node's machine and returns the cluster tool's argument.
func (l *Lab) prepare(n Node) (string, error) {
	arg := n.Name
	for k, v := range n.Labels {
		arg += ",label=" + k + "=" + v
	}
	if len(n.GPUs) == 0 {
		return arg, nil
	}
	dir := l.simDir(n.Name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	cfg := sim.Config{Driver: n.Driver, CUDA: n.CUDA, Seed: 1, Bin: filepath.Join(l.Out(), "sim")}
	for _, p := range n.GPUs {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: p})
	}
	m, err := sim.Create(dir, cfg)
	if err != nil {
		return "", fmt.Errorf("make the simulated machine of %s: %w", n.Name, err)
	}
	l.machines[n.Name] = m
	return arg + ",sim=" + dir, nil
}

// Down removes all there is of the lab.
func (l *Lab) Down(ctx context.Context) error {
	_, err := l.cluster(ctx, "down", "--name", l.name)
	return errors.Join(err, os.RemoveAll(filepath.Join(l.Out(), "lab", l.name)))
}

// ControlPlane starts etcd and the API server only, without root, with these
// feature gates, as "A=true,B=false".
func (l *Lab) ControlPlane(ctx context.Context, gates string) error {
	if err := l.Down(ctx); err != nil {
		return err
	}
	if _, err := l.cluster(ctx, "up", "--name", l.name, "--control-plane-only", "--feature-gates", gates); err != nil {
		return err
	}
	return l.connect(ctx)
}

// Kubeconfig is the path of the admin's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.kubeconfig }

func (l *Lab) connect(ctx context.Context) error {
	path, err := l.cluster(ctx, "kubeconfig", "--name", l.name)
	if err != nil {
		return err
	}
	l.kubeconfig = strings.TrimSpace(path)
	cfg, err := clientcmd.BuildConfigFromFlags("", l.kubeconfig)
	if err != nil {
		return err
	}
	cfg.QPS = -1
	l.client, err = kubernetes.NewForConfig(cfg)
	return err
}
