// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// callTimeout is how long the kubelet waits for a plugin (defaultClientCallTimeout
// of Kubernetes' pkg/kubelet/cm/dra/plugin).
const callTimeout = 45 * time.Second

// kubelet is a connection to a plugin's socket, with the kubelet's calls.
type kubelet struct {
	conn   *grpc.ClientConn
	plugin drav1.DRAPluginClient
}

func dial(socket string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", socket, err)
	}
	return conn, nil
}

func newKubelet(socket string) (*kubelet, error) {
	conn, err := dial(socket)
	if err != nil {
		return nil, err
	}
	return &kubelet{conn: conn, plugin: drav1.NewDRAPluginClient(conn)}, nil
}

// prepare asks for the claims in one call. One that was not prepared, or got no
// device, is an error.
func (k *kubelet) prepare(ctx context.Context, claims ...*drav1.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := k.plugin.NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{Claims: claims})
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	for _, c := range claims {
		got := resp.Claims[c.Uid]
		switch {
		case got == nil:
			return fmt.Errorf("prepare %s: no answer for this claim", c.Name)
		case got.Error != "":
			return fmt.Errorf("prepare %s: %s", c.Name, got.Error)
		case len(got.Devices) != 1 || len(got.Devices[0].CdiDeviceIds) == 0:
			return fmt.Errorf("prepare %s: it got %v, want one device with a CDI id", c.Name, got.Devices)
		}
	}
	return nil
}

// unprepare gives the claims back in one call.
func (k *kubelet) unprepare(ctx context.Context, claims ...*drav1.Claim) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := k.plugin.NodeUnprepareResources(ctx, &drav1.NodeUnprepareResourcesRequest{Claims: claims})
	if err != nil {
		return fmt.Errorf("unprepare: %w", err)
	}
	for _, c := range claims {
		got := resp.Claims[c.Uid]
		switch {
		case got == nil:
			return fmt.Errorf("unprepare %s: no answer for this claim", c.Name)
		case got.Error != "":
			return fmt.Errorf("unprepare %s: %s", c.Name, got.Error)
		}
	}
	return nil
}

func (k *kubelet) close() error { return k.conn.Close() }

// register does what the kubelet does with a new socket in its registry: it
// asks who that is, and says that it is welcome.
func register(ctx context.Context, socket string) error {
	conn, err := dial(socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	plugin := registerapi.NewRegistrationClient(conn)
	if _, err := plugin.GetInfo(ctx, &registerapi.InfoRequest{}); err != nil {
		return fmt.Errorf("ask the plugin who it is: %w", err)
	}
	if _, err := plugin.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: true}); err != nil {
		return fmt.Errorf("tell the plugin that it is registered: %w", err)
	}
	return nil
}

// pollEvery is how often a socket that may come is tried, and so the
// resolution of the start times.
const pollEvery = time.Millisecond

// awaitListener returns when somebody accepts connections at the socket, when
// gone is closed, or when the context ends. There is nothing to wait on: the
// directory changes when the socket is bound, which is before it listens.
func awaitListener(ctx context.Context, socket string, gone <-chan struct{}) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody listens at %s: %w", socket, ctx.Err())
		case <-gone:
			return fmt.Errorf("the plugin ended before it listened at %s", socket)
		case <-tick.C:
		}
	}
}
