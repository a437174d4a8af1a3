// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// health answers the kubelet's gRPC probes.
type health struct {
	healthpb.UnimplementedHealthServer
	ready func() bool
}

func (h health) Check(_ context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	if s := req.GetService(); s != "" && s != "liveness" && s != "readiness" {
		return nil, status.Errorf(codes.NotFound, "unknown service %q", s)
	}
	answer := healthpb.HealthCheckResponse_NOT_SERVING
	if req.GetService() == "liveness" || h.ready() {
		answer = healthpb.HealthCheckResponse_SERVING
	}
	return &healthpb.HealthCheckResponse{Status: answer}, nil
}

// serveHealth serves on the port, and returns what stops it.
func serveHealth(port int, ready func() bool) (func(), error) {
	if port < 0 {
		return func() {}, nil
	}
	lis, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, fmt.Errorf("listen for health checks: %w; choose another --healthcheck-port", err)
	}
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, health{ready: ready})
	go func() { _ = srv.Serve(lis) }()
	return srv.Stop, nil
}
