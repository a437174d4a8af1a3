// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/cotenant-dev/cotenant/plugin"
	"github.com/cotenant-dev/cotenant/plugin/cdi"
	"github.com/cotenant-dev/cotenant/plugin/journal"
	"github.com/cotenant-dev/cotenant/plugin/kinds"
	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/plugin/nvml"
	"github.com/cotenant-dev/cotenant/plugin/selector"
	"github.com/cotenant-dev/cotenant/plugin/timeslice"
)

// run constructs the plugin from the options and serves until the context ends.
func run(ctx context.Context, o *options) error {
	ctx = withLogger(ctx, o)
	// 1 the places it writes to
	if err := o.paths.Make(); err != nil {
		return err
	}
	// 2 the hardware, and what a container needs of it. The driver takes a while
	// to open, and so does the check of the journal: they do it side by side.
	session := nvml.New(nvml.FromRoot(o.paths.DriverRoot), o.paths.SysRoot, o.paths.ContainersCgroup, o.paths.Load)
	defer session.Close()
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		_, _ = session.Look(ctx) // the driver's own look reports what is wrong
	}()
	defer func() { <-opened }()
	hook, err := installHook(o)
	if err != nil {
		return err
	}
	specs := cdi.New(cdi.Config{
		Dir: o.paths.CDIRoot, DriverRoot: o.paths.DriverRoot, HostDriverRoot: o.paths.HostDriverRoot,
		DevRoot: o.paths.DevRoot, ProcRoot: o.paths.ProcRoot, MPSRoot: o.paths.MPSRoot, HookPath: hook, NVML: session.With, Load: o.paths.Load,
	})
	// 3 the cluster
	client, objects, err := newClients(o)
	if err != nil {
		return err
	}
	// 4 what it must not forget
	store, err := openJournal(ctx, o.paths.Journal())
	if err != nil {
		return err
	}
	// 5 the node
	driver := plugin.New(plugin.Config{
		NodeName: o.nodeName, Paths: o.paths, Client: client,
		GPUs: session, Specs: specs, Records: store, Memory: store,
		Intervals: timeslice.New(o.paths.DriverRoot, o.paths.Load), Daemons: mps.New(o.paths.MPSSocket),
		Kinds: kinds.New(objects), Match: selector.New().Match,
	})
	stopHealth, err := serveHealth(o.healthcheckPort, driver.Ready)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = driver.Run(ctx)
	// 6 let go, in the reverse order
	stopHealth()
	return errors.Join(err, store.Close())
}

func withLogger(ctx context.Context, o *options) context.Context {
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(o.verbosity)))
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
	if len(o.ignored) > 0 {
		log.Info("Options of the upstream driver have no effect here", "options", strings.Join(o.ignored, " "))
	}
	return klog.NewContext(ctx, log)
}

// openJournal opens the journal and mends what can be mended.
func openJournal(ctx context.Context, path string) (*journal.Journal, error) {
	log := klog.FromContext(ctx)
	store, damage, err := journal.Open(path, checkInChild(ctx), time.Now())
	if err != nil {
		return nil, err
	}
	if damage != nil {
		log.Error(damage.Why, "The journal was damaged and is set aside; every GPU is held until claims and hardware have been compared", "setAside", damage.Path)
	}
	mended, err := store.Mend()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mend the journal: %w", err), store.Close())
	}
	for _, what := range mended {
		log.Info("The journal was mended", "what", what)
	}
	return store, nil
}

func newClients(o *options) (kubernetes.Interface, dynamic.Interface, error) {
	cfg, err := clusterConfig(o.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	cfg.QPS, cfg.Burst = float32(o.qps), o.burst
	cfg.UserAgent = "cotenant-plugin"
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make the client of the API server: %w", err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make the client of the API server: %w", err)
	}
	return client, objects, nil
}

func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig %s: %w", kubeconfig, err)
		}
		return cfg, nil
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("not in a cluster, and no --kubeconfig given")
	}
	if err != nil {
		return nil, fmt.Errorf("read the pod's own account: %w", err)
	}
	return cfg, nil
}
