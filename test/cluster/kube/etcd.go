// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/url"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdOptions are the flags of etcd that a cluster of one member needs. They
// have the names and the meaning of the original's.
type etcdOptions struct {
	name          string
	dataDir       string
	clientURL     string
	peerURL       string
	unsafeNoFsync bool
	quotaBytes    int64
}

func newEtcdCommand() *cobra.Command {
	var o etcdOptions
	cmd := &cobra.Command{
		Use:           "etcd",
		Short:         "a single etcd member without TLS, for loopback only",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return o.run(ctx)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "default", "name of this member")
	flags.StringVar(&o.dataDir, "data-dir", "", "directory of the data (required)")
	flags.StringVar(&o.clientURL, "listen-client-urls", "http://127.0.0.1:2379", "URL to serve clients on")
	flags.StringVar(&o.peerURL, "listen-peer-urls", "http://127.0.0.1:2380", "URL to serve peers on")
	flags.BoolVar(&o.unsafeNoFsync, "unsafe-no-fsync", false, "do not wait for the disk; a crash of the machine may lose the data")
	flags.Int64Var(&o.quotaBytes, "quota-backend-bytes", 2<<30, "size in bytes at which etcd stops taking writes")
	if err := cmd.MarkFlagRequired("data-dir"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// config turns the flags into etcd's own configuration.
func (o etcdOptions) config() (*embed.Config, error) {
	client, err := url.Parse(o.clientURL)
	if err != nil {
		return nil, fmt.Errorf("--listen-client-urls %q: %w", o.clientURL, err)
	}
	peer, err := url.Parse(o.peerURL)
	if err != nil {
		return nil, fmt.Errorf("--listen-peer-urls %q: %w", o.peerURL, err)
	}
	cfg := embed.NewConfig()
	cfg.Name = o.name
	cfg.Dir = o.dataDir
	cfg.ListenClientUrls = []url.URL{*client}
	cfg.AdvertiseClientUrls = []url.URL{*client}
	cfg.ListenPeerUrls = []url.URL{*peer}
	cfg.AdvertisePeerUrls = []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(o.name)
	cfg.UnsafeNoFsync = o.unsafeNoFsync
	cfg.QuotaBackendBytes = o.quotaBytes
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	return cfg, nil
}

// run serves until the context ends or the member fails.
func (o etcdOptions) run(ctx context.Context) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	member, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd on %s with data in %s: %w", o.clientURL, o.dataDir, err)
	}
	defer member.Close()
	select {
	case <-ctx.Done():
		return nil
	case <-member.Server.StopNotify():
		return fmt.Errorf("etcd on %s stopped by itself; its log above says why", o.clientURL)
	case err := <-member.Err():
		return fmt.Errorf("etcd on %s: %w", o.clientURL, err)
	}
}
