// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cotenant-dev/cotenant/api/v1alpha1"
)

// LeaseName is the name of the Lease of the leader.
const LeaseName = "cotenant-controller"

// Options are what a cluster's controller is told.
type Options struct {
	// Namespace has the Lease and the record of defaults.
	Namespace string
	// LeaderElection keeps all but one of several controllers waiting.
	LeaderElection bool
	// MetricsAddress is where metrics are served; "0" is nowhere.
	MetricsAddress string
	// HealthAddress is where /healthz and /readyz are served; "0" is nowhere.
	HealthAddress string
	// Log is where everything is logged.
	Log logr.Logger
}

// Scheme returns the kinds that the controller reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(corev1.AddToScheme(s), resourceapi.AddToScheme(s), v1alpha1.AddToScheme(s))
}

func newManager(cfg *rest.Config, o Options) (manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	m, err := manager.New(cfg, manager.Options{
		Scheme:                        scheme,
		Logger:                        o.Log,
		Cache:                         cache.Options{ByObject: stripped()},
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}}}},
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              LeaseName,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("make the manager: %w; apply the CRDs of the chart, which are in its directory crds", err)
	}
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	return m, errors.Join(
		m.AddHealthzCheck("ping", healthz.Ping),
		m.AddReadyzCheck("cache", func(r *http.Request) error { return synced(r.Context(), m.GetCache()) }),
	)
}

// probeTimeout is below the second that the kubelet waits by default.
const probeTimeout = 500 * time.Millisecond

func synced(ctx context.Context, c cache.Cache) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if !c.WaitForCacheSync(ctx) {
		return errors.New("the cache is not filled yet")
	}
	return nil
}
