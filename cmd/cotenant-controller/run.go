// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cotenant-dev/cotenant/controller"
)

// run constructs the controller from the options and runs it until the context
// ends.
func run(ctx context.Context, o *options) error {
	log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(o.verbosity)))
	klog.SetLoggerWithOptions(log, klog.ContextualLogger(true))
	ctrllog.SetLogger(log)

	cfg, err := restConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	m, err := controller.New(cfg, controller.Options{
		Namespace: o.namespace, LeaderElection: o.leaderElect,
		MetricsAddress: o.metricsAddr, HealthAddress: o.healthAddr, Log: log,
	})
	if err != nil {
		return err
	}
	return m.Start(klog.NewContext(ctx, log))
}

// restConfig has no limit of requests on our side: the API server has its own,
// and a controller that falls behind is worse than one that is asked to wait.
func restConfig(kubeconfig string) (*rest.Config, error) {
	cfg, err := readConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	cfg.UserAgent = "cotenant-controller"
	return cfg, nil
}

func readConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
		return cfg, nil
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("not in a cluster, and no --kubeconfig given")
	}
	if err != nil {
		return nil, fmt.Errorf("read the in-cluster configuration: %w", err)
	}
	return cfg, nil
}
