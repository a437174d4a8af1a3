// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Node is what the daemons of one node must know.
type Node struct {
	Name   string
	Index  int // 1 to MaxNodes
	Labels map[string]string
	// Dir holds the node's configuration files, as the node sees them.
	Dir string
	// Authority is the file of the authority that signs API clients.
	Authority    string
	FeatureGates string
	Snapshotter  string // containerd's: overlayfs, or native where that cannot be
	Runc         string // path of runc
	CNIPlugins   string // directory of the CNI plugins
}

// Paths on a node, as its daemons and pods see them.
const (
	ContainerdSocket = "/run/containerd/containerd.sock"
	SandboxImage     = "cotenant.test/pause:1"
	BusyboxImage     = "cotenant.test/busybox:1"
)

// KubeletArgs returns the arguments of the kubelet.
func (n Node) KubeletArgs() []string {
	args := []string{
		"--config=" + n.Dir + "/kubelet.json",
		"--kubeconfig=" + n.Dir + "/kubelet.kubeconfig",
		"--hostname-override=" + n.Name,
		"--node-ip=" + NodeIP(n.Index),
	}
	if len(n.Labels) == 0 {
		return args
	}
	var labels []string
	for k, v := range n.Labels {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	return append(args, "--node-labels="+strings.Join(labels, ","))
}

// Kubelet returns the KubeletConfiguration, as JSON.
func (n Node) Kubelet() ([]byte, error) {
	gates, err := ParseFeatureGates(n.FeatureGates)
	if err != nil {
		return nil, err
	}
	file := map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"address":                  NodeIP(n.Index),
		"healthzPort":              0, // on 127.0.0.1, which the nodes share
		"readOnlyPort":             0,
		"containerRuntimeEndpoint": "unix://" + ContainerdSocket,
		"resolvConf":               n.Dir + "/resolv.conf",
		"clusterDNS":               []string{DNSIP},
		"clusterDomain":            "cluster.local",
		"volumePluginDir":          "/var/lib/kubelet/volume-plugins",
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": n.Authority},
		},
		"authorization":          map[string]any{"mode": "Webhook"},
		"cgroupDriver":           "cgroupfs",
		"failCgroupV1":           false,
		"makeIPTablesUtilChains": false, // no iptables in the cluster's network
		"failSwapOn":             false,
		// The machine is shared: the kubelet manages containers on it, not it.
		"cgroupsPerQOS":                 false,
		"enforceNodeAllocatable":        []string{},
		"localStorageCapacityIsolation": false,
		"imageGCHighThresholdPercent":   100, // no registry to pull an image from again
		"evictionHard":                  map[string]string{"memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
		"oomScoreAdj":                   0, // lowering it needs CAP_SYS_RESOURCE
		"featureGates":                  gates,
	}
	return marshal(file)
}

// ParseFeatureGates reads `A=true,B=false`.
func ParseFeatureGates(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	if text == "" {
		return gates, nil
	}
	for _, entry := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(entry), "=")
		on, err := strconv.ParseBool(value)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("feature gate %q: write Name=true or Name=false", entry)
		}
		gates[name] = on
	}
	return gates, nil
}

// CNI returns the configuration of the pod network: a pair of interfaces for
// each pod, routed, without address translation. Without the default route pods
// would not reach the API server.
func (n Node) CNI() ([]byte, error) {
	return marshal(map[string]any{
		"cniVersion": "1.0.0",
		"name":       "pods",
		"plugins": []any{map[string]any{
			"type": "ptp",
			"ipam": map[string]any{
				"type":    "host-local",
				"ranges":  [][]map[string]string{{{"subnet": PodRange(n.Index)}}},
				"routes":  []map[string]string{{"dst": "0.0.0.0/0"}},
				"dataDir": "/run/cni", // a reboot frees all addresses
			},
		}},
	})
}

func marshal(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
