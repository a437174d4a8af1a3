// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/sim"
)

const (
	gpus    = 8
	product = "H100-80"
)

// startTimeout bounds a start. It is far above every bar, so that a slow plugin
// is a figure and not an error.
const startTimeout = time.Minute

// node is a simulated machine, the directories of its kubelet, and the plugin
// that runs there or does not.
type node struct {
	name       string
	dir        string
	plugin     string // the program
	kubeconfig string
	machine    *sim.Machine
	log        io.Writer

	process *process
	kubelet *kubelet

	// supervisor is that of MPS daemons, on a node that has one, and where it is.
	supervisor         *process
	mpsSocket, mpsRoot string
}

// newNode makes the node in dir, with nothing running yet. plugin is the program
// that it will run.
func newNode(l *lab.Lab, plugin, name, dir string, log io.Writer) (*node, error) {
	n := &node{name: name, dir: dir, plugin: plugin, kubeconfig: l.Kubeconfig(), log: log}
	cfg := sim.Config{Seed: 1, Bin: filepath.Join(l.Out(), "sim")}
	for range gpus {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: product})
	}
	if err := os.MkdirAll(n.registry(), 0o755); err != nil {
		return nil, err
	}
	var err error
	if n.machine, err = sim.Create(filepath.Join(dir, "sim"), cfg); err != nil {
		return nil, fmt.Errorf("%w; run `make sim` if programs are missing", err)
	}
	return n, nil
}

func (n *node) registry() string { return filepath.Join(n.dir, "registry") }
func (n *node) plugins() string  { return filepath.Join(n.dir, "plugins") }
func (n *node) data() string     { return filepath.Join(n.plugins(), api.DriverName) }
func (n *node) cdi() string      { return filepath.Join(n.dir, "cdi") }
func (n *node) socket() string   { return filepath.Join(n.data(), "dra.sock") }
func (n *node) journal() string  { return filepath.Join(n.data(), "journal.db") }

func (n *node) registrySocket() string {
	return filepath.Join(n.registry(), api.DriverName+"-reg.sock")
}

// spec is the CDI file of a claim.
func (n *node) spec(uid string) string {
	return filepath.Join(n.cdi(), api.CDIVendor+"-"+api.CDIClass+"_"+uid+".yaml")
}

// launch starts the plugin and does not wait for it.
func (n *node) launch() error {
	root := n.machine.Root()
	var mps []string
	if n.supervisor != nil {
		mps = []string{"--mps-socket", n.mpsSocket, "--mps-root", n.mpsRoot}
	}
	p, err := startProcess(n.log, []string{"COTENANT_SIM_STATE=" + n.machine.Dir()}, n.plugin, append(mps,
		"--node-name", n.name, "--kubeconfig", n.kubeconfig, "--cdi-root", n.cdi(),
		"--nvidia-driver-root", root, "--container-driver-root", root,
		"--proc-root", filepath.Join(root, "proc"), "--sys-root", filepath.Join(root, "sys"),
		"--kubelet-registrar-directory-path", n.registry(), "--kubelet-plugins-directory-path", n.plugins())...)
	if err != nil {
		return err
	}
	n.process = p
	return nil
}

// awaitSocket returns when the launched plugin takes calls.
func (n *node) awaitSocket(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := awaitListener(ctx, n.socket(), n.process.ended); err != nil {
		return n.explain(err)
	}
	k, err := newKubelet(n.socket())
	if err != nil {
		return err
	}
	n.kubelet = k
	return n.explain(k.prepare(ctx)) // an empty call: the server answers
}

// start launches the plugin and registers it, as the kubelet does.
func (n *node) start(ctx context.Context) error {
	if err := n.launch(); err != nil {
		return err
	}
	if err := n.awaitSocket(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := awaitListener(ctx, n.registrySocket(), n.process.ended); err != nil {
		return n.explain(err)
	}
	return n.explain(register(ctx, n.registrySocket()))
}

// explain adds the plugin's last words to an error.
func (n *node) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("node %s: %w; the plugin said:\n%s", n.name, err, n.process.lastWords())
}

// stop ends the plugin if it runs. A plugin that had ended by itself is an
// error.
func (n *node) stop() error {
	var errs error
	if n.kubelet != nil {
		errs = n.kubelet.close()
	}
	if n.process != nil {
		if err := n.process.stop(); err != nil {
			errs = errors.Join(errs, n.explain(err))
		}
	}
	if n.supervisor != nil {
		errs = errors.Join(errs, n.supervisor.stop(), syscall.Unmount(n.mpsRoot, 0))
	}
	n.kubelet, n.process, n.supervisor = nil, nil, nil
	return errs
}
