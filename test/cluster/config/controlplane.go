// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path/filepath"
	"slices"
)

// ControlPlane is what the daemons of a control plane must know.
type ControlPlane struct {
	Dir string // run directory
	// Bind is the address to serve the API on, and Advertise the one it is told
	// to the cluster as. Advertise must not be on loopback.
	Bind, Advertise string
	// Endpoints lets the API server write the endpoints of the service
	// `kubernetes`: only where Advertise really leads to it.
	Endpoints     bool
	Ports         Ports
	FeatureGates  string // as `A=true,B=false`; empty for the defaults
	RuntimeConfig string // as `resource.k8s.io/v1beta2=true`
}

// Ports are the ports of the control plane; all but API are on 127.0.0.1.
type Ports struct {
	API               int `json:"api"`
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler"`
}

// Files of the control plane, relative to the run directory.
const (
	AuthorityFile        = "pki/ca.crt"
	AuthorityKeyFile     = "pki/ca.key"
	APICertificateFile   = "pki/kube-apiserver.crt"
	APIKeyFile           = "pki/kube-apiserver.key"
	KubeletClientFile    = "pki/kubelet-client.crt"
	KubeletClientKeyFile = "pki/kubelet-client.key"
	AccountKeyFile       = "pki/service-account.key"
	ControllerManagerKC  = "pki/kube-controller-manager.kubeconfig"
	SchedulerKC          = "pki/kube-scheduler.kubeconfig"
	AdminKC              = "kubeconfig"
)

func (c ControlPlane) path(name string) string { return filepath.Join(c.Dir, name) }

// Etcd returns the arguments of etcd.
func (c ControlPlane) Etcd() []string {
	return []string{
		"--name=cotenant",
		"--data-dir=" + c.path("etcd"),
		fmt.Sprintf("--listen-client-urls=http://127.0.0.1:%d", c.Ports.Etcd),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", c.Ports.EtcdPeer),
		"--unsafe-no-fsync", // the data is thrown away with the cluster
	}
}

// APIServer returns the arguments of kube-apiserver.
func (c ControlPlane) APIServer() []string {
	args := []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.Ports.Etcd),
		"--bind-address=" + c.Bind,
		"--advertise-address=" + c.Advertise,
		fmt.Sprintf("--secure-port=%d", c.Ports.API),
		"--tls-cert-file=" + c.path(APICertificateFile),
		"--tls-private-key-file=" + c.path(APIKeyFile),
		"--client-ca-file=" + c.path(AuthorityFile),
		"--kubelet-client-certificate=" + c.path(KubeletClientFile),
		"--kubelet-client-key=" + c.path(KubeletClientKeyFile),
		// Node names are free and resolve nowhere.
		"--kubelet-preferred-address-types=InternalIP",
		"--service-cluster-ip-range=" + ServiceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path(AccountKeyFile),
		"--service-account-signing-key-file=" + c.path(AccountKeyFile),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--profiling=false",
	}
	if !c.Endpoints {
		args = append(args, "--endpoint-reconciler-type=none")
	}
	if c.RuntimeConfig != "" {
		args = append(args, "--runtime-config="+c.RuntimeConfig)
	}
	return c.gates(args)
}

// ControllerManager returns the arguments of kube-controller-manager.
func (c ControlPlane) ControllerManager() []string {
	return c.gates([]string{
		"--kubeconfig=" + c.path(ControllerManagerKC),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.Ports.ControllerManager),
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + c.path(AccountKeyFile),
		"--root-ca-file=" + c.path(AuthorityFile),
		// The default is a directory of the machine that would be created.
		"--flex-volume-plugin-dir=" + c.path("volume-plugins"),
	})
}

// Scheduler returns the arguments of kube-scheduler.
func (c ControlPlane) Scheduler() []string {
	return c.gates([]string{
		"--kubeconfig=" + c.path(SchedulerKC),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.Ports.Scheduler),
		"--leader-elect=false",
	})
}

func (c ControlPlane) gates(args []string) []string {
	if c.FeatureGates == "" {
		return args
	}
	return append(slices.Clip(args), "--feature-gates="+c.FeatureGates)
}
