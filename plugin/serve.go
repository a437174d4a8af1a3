// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/cotenant-dev/cotenant/api"
)

// serve opens the sockets that the kubelet talks to. All locking is ours: calls
// for different claims run at the same time.
func (d *Driver) serve(ctx context.Context) (*kubeletplugin.Helper, error) {
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(api.DriverName),
		kubeletplugin.KubeClient(d.cfg.Client),
		kubeletplugin.NodeName(d.cfg.NodeName),
		kubeletplugin.PluginDataDirectoryPath(d.cfg.Paths.Data()),
		kubeletplugin.RegistrarDirectoryPath(d.cfg.Paths.Registry),
		kubeletplugin.Serialize(false),
		kubeletplugin.HealthService(false),
		kubeletplugin.GRPCInterceptor(d.watchRegistration),
	)
	if err != nil {
		return nil, fmt.Errorf("serve the kubelet: %w", err)
	}
	return helper, nil
}

// watchRegistration sees the kubelet's word about our registration. A refusal
// ends the process: a plugin that the kubelet does not know must not look ready.
// After every success the slices are compared again, since a kubelet that
// restarted has deleted them.
func (d *Driver) watchRegistration(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	resp, err := handler(ctx, req)
	if status, ok := req.(*registerapi.RegistrationStatus); ok {
		if status.PluginRegistered {
			klog.FromContext(ctx).Info("Registered with the kubelet")
			d.publisher.again()
		} else {
			d.fail(fmt.Errorf("the kubelet refused to register the plugin: %s", status.Error))
		}
	}
	return resp, err
}
