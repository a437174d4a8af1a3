// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decode(t *testing.T, text []byte, err error) map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}

// Every node's addresses are inside the ranges, and no two are alike.
func TestAddresses(t *testing.T) {
	nodes := netip.MustParsePrefix("10.88.255.0/24")
	services := netip.MustParsePrefix(ServiceRange)
	seen := map[string]bool{ControlPlaneIP: true}
	for index := 1; index <= MaxNodes; index++ {
		ip := NodeIP(index)
		if addr, err := netip.ParseAddr(ip); err != nil || !nodes.Contains(addr) || seen[ip] {
			t.Fatalf("node %d has %s: %v, taken: %v", index, ip, err, seen[ip])
		}
		pods, err := netip.ParsePrefix(PodRange(index))
		if err != nil || pods.Overlaps(nodes) || pods.Overlaps(services) || seen[pods.String()] {
			t.Fatalf("node %d has pods %s: %v", index, pods, err)
		}
		seen[ip], seen[pods.String()] = true, true
	}
	for _, ip := range []string{ServiceIP, DNSIP} {
		if !services.Contains(netip.MustParseAddr(ip)) {
			t.Errorf("%s is outside %s", ip, services)
		}
	}
}

func TestControlPlaneArguments(t *testing.T) {
	base := ControlPlane{Dir: "/run/c", Bind: "127.0.0.1", Advertise: ControlPlaneIP, Ports: Ports{API: 1, Etcd: 2, EtcdPeer: 3, ControllerManager: 4, Scheduler: 5}}
	published := base
	published.Bind, published.Endpoints = "0.0.0.0", true
	gated := base
	gated.FeatureGates, gated.RuntimeConfig = "A=true,B=false", "resource.k8s.io/v1beta2=true"
	for name, test := range map[string]struct {
		args       []string
		has, lacks []string
	}{
		"etcd": {base.Etcd(), []string{"--data-dir=/run/c/etcd", "--listen-client-urls=http://127.0.0.1:2", "--listen-peer-urls=http://127.0.0.1:3"}, nil},
		"api server on loopback": {base.APIServer(),
			[]string{"--bind-address=127.0.0.1", "--secure-port=1", "--etcd-servers=http://127.0.0.1:2", "--endpoint-reconciler-type=none", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true", "--tls-cert-file=/run/c/pki/kube-apiserver.crt"},
			[]string{"--feature-gates", "--runtime-config"}},
		"api server in its network": {published.APIServer(), []string{"--bind-address=0.0.0.0", "--advertise-address=10.88.255.1"}, []string{"--endpoint-reconciler-type"}},
		"api server with gates":     {gated.APIServer(), []string{"--feature-gates=A=true,B=false", "--runtime-config=resource.k8s.io/v1beta2=true"}, nil},
		"controller manager":        {gated.ControllerManager(), []string{"--secure-port=4", "--feature-gates=A=true,B=false", "--use-service-account-credentials=true"}, []string{"--runtime-config"}},
		"scheduler":                 {gated.Scheduler(), []string{"--secure-port=5", "--feature-gates=A=true,B=false"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, want := range test.has {
				if !slices.Contains(test.args, want) {
					t.Errorf("no %s in\n%s", want, strings.Join(test.args, "\n"))
				}
			}
			for _, flag := range test.lacks {
				if slices.ContainsFunc(test.args, func(a string) bool { return strings.HasPrefix(a, flag) }) {
					t.Errorf("%s in\n%s", flag, strings.Join(test.args, "\n"))
				}
			}
		})
	}
}

var example = Node{
	Name: "192.168.2.8", Index: 3, Labels: map[string]string{"b/x": "1", "a": "2"}, Dir: "/run/c/nodes/n/etc",
	Authority: "/run/c/pki/ca.crt", FeatureGates: "A=true,B=false", Snapshotter: "native", Runc: "/usr/sbin/runc", CNIPlugins: "/usr/lib/cni",
}

func TestKubelet(t *testing.T) {
	text, err := example.Kubelet()
	got := decode(t, text, err)
	for key, want := range map[string]any{
		"address":                  "10.88.255.13",
		"failCgroupV1":             false,
		"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
		"featureGates":             map[string]any{"A": true, "B": false},
		"healthzPort":              float64(0),
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	wantArgs := []string{
		"--config=/run/c/nodes/n/etc/kubelet.json", "--kubeconfig=/run/c/nodes/n/etc/kubelet.kubeconfig",
		"--hostname-override=192.168.2.8", "--node-ip=10.88.255.13", "--node-labels=a=2,b/x=1",
	}
	if diff := cmp.Diff(wantArgs, example.KubeletArgs()); diff != "" {
		t.Error(diff)
	}
	broken := example
	broken.FeatureGates = "A=yes please"
	if _, err := broken.Kubelet(); err == nil {
		t.Error("a wrong feature gate was accepted")
	}
}

func TestParseFeatureGates(t *testing.T) {
	for text, want := range map[string]map[string]bool{
		"":                {},
		"A=true":          {"A": true},
		"A=true, B=false": {"A": true, "B": false},
	} {
		if got, err := ParseFeatureGates(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"A", "A=", "=true", "A=true,", "A=maybe"} {
		if got, err := ParseFeatureGates(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestCNI(t *testing.T) {
	text, err := example.CNI()
	got := decode(t, text, err)
	ipam := got["plugins"].([]any)[0].(map[string]any)["ipam"].(map[string]any)
	want := map[string]any{
		"type": "host-local", "dataDir": "/run/cni",
		"ranges": []any{[]any{map[string]any{"subnet": "10.89.3.0/24"}}},
		"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
	}
	if diff := cmp.Diff(want, ipam); diff != "" {
		t.Error(diff)
	}
}

func TestContainerd(t *testing.T) {
	text, err := example.Containerd()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`snapshotter = "native"`, `sandbox = "cotenant.test/pause:1"`, `cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]`,
		`restrict_oom_score_adj = true`, `bin_dirs = ["/usr/lib/cni"]`, `conf_dir = "/run/c/nodes/n/etc/cni"`,
		`base_runtime_spec = "/run/c/nodes/n/etc/base-spec.json"`, `BinaryName = "/usr/sbin/runc"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestBaseSpec(t *testing.T) {
	given := []byte(`{"ociVersion":"1.2.0","mounts":[{"destination":"/proc"}]}`)
	text, err := BaseSpec(given, "/run/cotenant-sim")
	want := map[string]any{
		"ociVersion": "1.2.0",
		"mounts": []any{
			map[string]any{"destination": "/proc"},
			map[string]any{"destination": "/run/cotenant-sim", "source": "/run/cotenant-sim", "type": "bind", "options": []any{"rbind", "rw"}},
		},
	}
	if diff := cmp.Diff(want, decode(t, text, err)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "{}", `{"mounts":3}`} {
		if _, err := BaseSpec([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestKubeconfig(t *testing.T) {
	text, err := Kubeconfig("https://127.0.0.1:7", []byte("authority"), []byte("certificate"), []byte("key"))
	got := decode(t, text, err)
	user := got["users"].([]any)[0].(map[string]any)["user"].(map[string]any)
	cluster := got["clusters"].([]any)[0].(map[string]any)["cluster"].(map[string]any)
	if cluster["server"] != "https://127.0.0.1:7" {
		t.Errorf("server %v", cluster["server"])
	}
	for got, want := range map[any]string{
		cluster["certificate-authority-data"]: "authority",
		user["client-certificate-data"]:       "certificate",
		user["client-key-data"]:               "key",
	} {
		if got != base64.StdEncoding.EncodeToString([]byte(want)) {
			t.Errorf("%v, want %q in base64", got, want)
		}
	}
}
