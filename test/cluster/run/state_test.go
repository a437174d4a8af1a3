// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/config"
)

func TestParseNode(t *testing.T) {
	for text, want := range map[string]NodeSpec{
		"a":                      {Name: "a"},
		"192.168.2.8":            {Name: "192.168.2.8"},
		"a,sim=/x/y":             {Name: "a", Sim: "/x/y"},
		"a,label=k=v,label=l=":   {Name: "a", Labels: map[string]string{"k": "v", "l": ""}},
		"a,label=n.com/g.p=true": {Name: "a", Labels: map[string]string{"n.com/g.p": "true"}},
	} {
		got, err := ParseNode(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"": "no node name", "A": "no node name", "a b": "no node name", "../x": "no node name", "a..b": "no node name",
		"a,sim": "needs a directory", "a,sim=": "needs a directory", "a,label=k": "label=KEY=VALUE",
		"a,label==v": "label=KEY=VALUE", "a,gpu=1": "neither", "a,": "neither",
	} {
		if got, err := ParseNode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, got, err, want)
		}
	}
	if got, err := ParseNode("a,sim=x"); err != nil || !filepath.IsAbs(got.Sim) {
		t.Errorf("a relative directory: %+v, %v", got, err)
	}
}

// cluster returns one whose products seem to be built.
func cluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := New("test", build.Output(t.TempDir()), testWriter{t})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{build.DefaultVersion, "1.36.4"} {
		v, err := build.ParseVersion(version)
		if err != nil {
			t.Fatal(err)
		}
		touch(t, c.Output.Kube(v))
	}
	return c
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"", "A", "-a", "a-", "a/b", "..", strings.Repeat("a", 41)} {
		if _, err := New(name, "out", testWriter{t}); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
	out := build.Output(t.TempDir())
	if names, err := Names(out); err != nil || len(names) != 0 {
		t.Errorf("before any cluster: %v, %v", names, err)
	}
	touch(t, out.Run("one")+"/cluster.json")
	touch(t, out.Run(".one.lock"))
	if names, err := Names(out); err != nil || !cmp.Equal(names, []string{"one"}) {
		t.Errorf("names %v, %v", names, err)
	}
}

func TestPlanOfANewCluster(t *testing.T) {
	c := cluster(t)
	s, err := c.plan(state{}, false, Options{ControlPlaneOnly: true, With: []string{"kcm"}, FeatureGates: "A=true"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Version != build.DefaultVersion || !s.Loopback || !s.with("kcm") || s.with("scheduler") || s.FeatureGates != "A=true" {
		t.Errorf("planned %+v", s)
	}
	p := s.Ports
	seen := map[int]bool{0: true}
	for _, port := range []int{p.API, p.Etcd, p.EtcdPeer, p.ControllerManager, p.Scheduler} {
		if seen[port] {
			t.Errorf("ports %+v: not five different ones", p)
		}
		seen[port] = true
	}
	if s.Published != p.API {
		t.Errorf("published %d, served on %d", s.Published, p.API)
	}
	for name, o := range map[string]Options{
		"nodes on loopback":    {ControlPlaneOnly: true, Nodes: []NodeSpec{{Name: "a"}}},
		"unknown daemon":       {ControlPlaneOnly: true, With: []string{"proxy"}},
		"wrong gates":          {ControlPlaneOnly: true, FeatureGates: "A"},
		"wrong version":        {ControlPlaneOnly: true, Version: "1.x"},
		"version not built":    {ControlPlaneOnly: true, Version: "1.35.4"},
		"node without its sim": {Nodes: []NodeSpec{{Name: "a", Sim: t.TempDir()}}},
	} {
		if s, err := c.plan(state{}, false, o); err == nil {
			t.Errorf("%s: planned %+v", name, s)
		}
	}
}

func TestPlanOfAClusterThatRuns(t *testing.T) {
	c := cluster(t)
	running := state{Version: "1.36.4", Loopback: true, FeatureGates: "A=true", With: []string{"kcm"}}
	for name, test := range map[string]struct {
		o    Options
		want string // in the error; empty for none
	}{
		"unknown daemon":   {Options{ControlPlaneOnly: true, With: []string{"proxy"}}, "proxy"},
		"nothing said":     {Options{ControlPlaneOnly: true}, ""},
		"the same said":    {Options{ControlPlaneOnly: true, Version: "v1.36.4", FeatureGates: "A=true"}, ""},
		"another version":  {Options{ControlPlaneOnly: true, Version: "1.37.2"}, "version"},
		"other gates":      {Options{ControlPlaneOnly: true, FeatureGates: "B=true"}, "feature gates"},
		"other API":        {Options{ControlPlaneOnly: true, RuntimeConfig: "a=true"}, "runtime config"},
		"with namespaces":  {Options{}, "control-plane-only"},
		"nodes after all":  {Options{ControlPlaneOnly: true, Nodes: []NodeSpec{{Name: "a"}}}, "no nodes"},
		"more to run with": {Options{ControlPlaneOnly: true, With: []string{"scheduler"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := c.plan(running, true, test.o)
			if test.want == "" {
				if err != nil || s.Version != running.Version || s.FeatureGates != running.FeatureGates {
					t.Errorf("planned %+v, %v", s, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestDaemonsAreAdded(t *testing.T) {
	running := state{Version: build.DefaultVersion, Loopback: true, With: []string{"kcm"}}
	s, err := cluster(t).plan(running, true, Options{ControlPlaneOnly: true, With: []string{"scheduler", "kcm"}})
	if err != nil || !cmp.Equal(s.With, []string{"kcm", "scheduler"}) {
		t.Errorf("with %v, %v", s.With, err)
	}
}

func TestAddNode(t *testing.T) {
	var s state
	a := NodeSpec{Name: "a", Labels: map[string]string{"k": "v"}}
	for _, n := range []NodeSpec{a, {Name: "b"}, a} {
		if err := s.addNode(n); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]nodeState{{a, 1}, {NodeSpec{Name: "b"}, 2}}, s.Nodes); diff != "" {
		t.Error(diff)
	}
	for _, n := range []NodeSpec{{Name: "a"}, {Name: "b", Sim: "/x"}, {Name: "a", Labels: map[string]string{"k": "w"}}} {
		if err := s.addNode(n); err == nil || !strings.Contains(err.Error(), "other settings") {
			t.Errorf("%+v over what is there: %v", n, err)
		}
	}
	// An index that has become free is used again.
	s.Nodes = s.Nodes[1:]
	if err := s.addNode(NodeSpec{Name: "c"}); err != nil || s.Nodes[1].Index != 1 {
		t.Errorf("nodes %+v, %v", s.Nodes, err)
	}
	full := state{}
	for i := 1; i <= config.MaxNodes; i++ {
		full.Nodes = append(full.Nodes, nodeState{Index: i})
	}
	if err := full.addNode(a); err == nil {
		t.Error("a node more than there are addresses")
	}
}

func TestStateIsKept(t *testing.T) {
	c := cluster(t)
	if _, ok, err := c.load(); ok || err != nil {
		t.Fatalf("before it is written: %v, %v", ok, err)
	}
	if _, err := c.mustLoad(); err == nil || !strings.Contains(err.Error(), "cluster up --name test") {
		t.Errorf("error %v does not say what to do", err)
	}
	want := state{Version: "1.36.4", With: []string{"kcm"}, Nodes: []nodeState{{NodeSpec{Name: "a", Sim: "/x", Labels: map[string]string{"k": "v"}}, 7}}}
	if err := c.save(want); err != nil {
		t.Fatal(err)
	}
	got, ok, err := c.load()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := got.node("z"); err == nil || !strings.Contains(err.Error(), "[a]") {
		t.Errorf("error %v does not name the nodes there are", err)
	}
	if err := os.WriteFile(c.file("cluster.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.load(); err == nil || !strings.Contains(err.Error(), "cluster down --name test") {
		t.Errorf("a damaged file: %v; want what to do about it", err)
	}
}

// Keys are made once: later commands find the same authority.
func TestKeysAreKept(t *testing.T) {
	c := cluster(t)
	s := state{Ports: config.Ports{API: 443}, Published: 12345}
	first, err := c.authority(s)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.authority(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Pair(), second.Pair()); diff != "" {
		t.Error(diff)
	}
	a, err := dialAPI(c.file(config.AdminKC))
	if err != nil {
		t.Fatal(err)
	}
	if a.server != "https://127.0.0.1:12345" {
		t.Errorf("the admin's server is %s, want the published one", a.server)
	}
	for _, file := range []string{config.AuthorityKeyFile, config.AccountKeyFile, config.AdminKC} {
		info, err := os.Stat(c.file(file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %s", file, info.Mode())
		}
	}
}

func TestDownOfNothing(t *testing.T) {
	c := cluster(t)
	touch(t, c.file("left/over"))
	for range 2 {
		if err := c.Down(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(c.Output.Run(""))
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestCgroupsOfTwoOutputsDiffer(t *testing.T) {
	a, b := cluster(t), cluster(t)
	if a.cgroup() == b.cgroup() {
		t.Errorf("both have %s", a.cgroup())
	}
}
