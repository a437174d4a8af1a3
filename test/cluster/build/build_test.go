// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

func TestVersion(t *testing.T) {
	for text, want := range map[string][4]string{
		"1.37.2":  {"1.37.2", "v1.37.2", "v0.37.2", "37"},
		"v1.34.4": {"1.34.4", "v1.34.4", "v0.34.4", "34"},
	} {
		v, err := ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]string{v.String(), v.Git(), v.Library(), v.Minor()}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "1.37", "2.0.0", "1.37.2-rc.1", "latest", "1.37.2+k3s1"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("%q was read as %s", text, v)
		}
	}
	for _, text := range append(Known(), DefaultVersion) {
		if _, err := ParseVersion(text); err != nil {
			t.Errorf("a version that is said to work: %v", err)
		}
	}
}

const upstream = `module k8s.io/kubernetes
go 1.24.0
godebug default=go1.24
require (
	github.com/spf13/cobra v1.9.1
	go.etcd.io/etcd/client/v3 v3.6.4
	k8s.io/api v0.0.0
	k8s.io/component-base v0.0.0
	k8s.io/utils v0.0.0-20250604170112-4c0f3b243397
)
require go.etcd.io/etcd/server/v3 v3.6.4 // indirect
replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/component-base => ./staging/src/k8s.io/component-base
	example.com/fork => example.com/other v1.0.0
)
`

// The derived module is the committed one in every respect but the versions.
func TestDeriveModule(t *testing.T) {
	committed, err := os.ReadFile("../kube/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVersion("1.34.4")
	if err != nil {
		t.Fatal(err)
	}
	text, err := deriveModule(committed, []byte(upstream), v)
	if err != nil {
		t.Fatal(err)
	}
	derived, err := modfile.Parse("derived", text, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	requires, replaces := map[string]string{}, map[string]string{}
	for _, r := range derived.Require {
		requires[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range derived.Replace {
		replaces[r.Old.Path] = r.New.String()
	}
	if diff := cmp.Diff(map[string]string{
		"github.com/spf13/cobra": "v1.9.1", "go.etcd.io/etcd/server/v3": "v3.6.4",
		"k8s.io/component-base": "v0.34.4", "k8s.io/kubernetes": "v1.34.4",
	}, requires); diff != "" {
		t.Errorf("requires: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"k8s.io/api": "k8s.io/api@v0.34.4", "k8s.io/component-base": "k8s.io/component-base@v0.34.4",
	}, replaces); diff != "" {
		t.Errorf("replaces: %s", diff)
	}
	if len(derived.Godebug) != 1 || derived.Godebug[0].Value != "go1.24" {
		t.Errorf("godebug %+v, want upstream's", derived.Godebug)
	}
	if !strings.HasSuffix(derived.Module.Mod.Path, "/test/cluster/kube") {
		t.Errorf("module %s", derived.Module.Mod.Path)
	}
	without := strings.ReplaceAll(upstream, "require go.etcd.io/etcd/server/v3 v3.6.4 // indirect\n", "")
	if _, err := deriveModule(committed, []byte(without), v); err == nil || !strings.Contains(err.Error(), "etcd/server") {
		t.Errorf("a release without etcd's server: %v", err)
	}
}

// The committed module is for the default version: deriving it for that version
// changes nothing it says about versions.
func TestCommittedModuleIsTheDefault(t *testing.T) {
	text, err := os.ReadFile("../kube/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVersion(DefaultVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		if r.Mod.Path == kubernetesModule && r.Mod.Version != v.Git() {
			t.Errorf("requires %s, want %s", r.Mod, v.Git())
		}
	}
	if len(file.Replace) == 0 {
		t.Error("no replacements")
	}
	for _, r := range file.Replace {
		if r.New.Version != v.Library() {
			t.Errorf("%s is replaced by %s, want %s", r.Old.Path, r.New, v.Library())
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestStamp(t *testing.T) {
	dir := t.TempDir()
	input, product := filepath.Join(dir, "in", "deep", "file"), filepath.Join(dir, "out")
	write(t, input, "a")
	s := stamp{inputs: []string{filepath.Join(dir, "in")}, words: []string{"flags"}}
	fresh := func(s stamp, products ...string) (bool, string) {
		t.Helper()
		ok, sum, err := s.fresh(products)
		if err != nil {
			t.Fatal(err)
		}
		return ok, sum
	}
	ok, sum := fresh(s, product)
	if ok {
		t.Fatal("fresh before it is made")
	}
	write(t, product, "made")
	if ok, _ := fresh(s, product); ok {
		t.Error("fresh without a stamp")
	}
	if err := s.write([]string{product}, sum); err != nil {
		t.Fatal(err)
	}
	if ok, _ := fresh(s, product); !ok {
		t.Error("not fresh after it was made")
	}
	if ok, _ := fresh(s, product, product+"2"); ok {
		t.Error("fresh although one product is missing")
	}
	if ok, _ := fresh(stamp{inputs: s.inputs, words: []string{"other flags"}}, product); ok {
		t.Error("fresh with other words")
	}
	write(t, input, "b")
	if ok, _ := fresh(s, product); ok {
		t.Error("fresh although an input has changed")
	}
	if _, _, err := (stamp{inputs: []string{filepath.Join(dir, "none")}}).fresh([]string{product}); err == nil {
		t.Error("an input that is not there is no error")
	}
}

func TestFindRepository(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "go.mod"), "module "+mainModule+"\n")
	write(t, filepath.Join(root, "test/cluster/go.mod"), "module "+mainModule+"/test/cluster\n")
	for _, from := range []string{root, filepath.Join(root, "test/cluster")} {
		if got, err := FindRepository(from); err != nil || got != root {
			t.Errorf("from %s: %s, %v; want %s", from, got, err, root)
		}
	}
	if got, err := FindRepository(t.TempDir()); err == nil {
		t.Errorf("found %s outside of any", got)
	}
}

func TestMissingPackages(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	write(t, there, "")
	if err := os.Chmod(there, 0o755); err != nil {
		t.Fatal(err)
	}
	got := missing([]need{{there, "a"}, {there + "-not", "b"}, {there + "-neither", "b"}, {"no-such-program-here", "c"}})
	if diff := cmp.Diff([]string{"b", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRequiredVersions(t *testing.T) {
	for file, module := range map[string]string{
		"../containerd/go.mod": "github.com/containerd/containerd/v2",
		"../clients/go.mod":    "k8s.io/kubectl",
	} {
		if v, err := requiredVersion(file, module); err != nil || !strings.HasPrefix(v, "v") {
			t.Errorf("%s: %q, %v", module, v, err)
		}
		if v, err := requiredVersion(file, "example.com/none"); err == nil {
			t.Errorf("%s requires example.com/none %s", file, v)
		}
	}
}

func TestHave(t *testing.T) {
	dir := t.TempDir()
	v, err := ParseVersion(DefaultVersion)
	if err != nil {
		t.Fatal(err)
	}
	o := Output(dir)
	if err := o.Have(v, o.Kube(v)); err == nil || !strings.Contains(err.Error(), "cluster build --version "+DefaultVersion) {
		t.Errorf("a missing product: %v; want what to do about it", err)
	}
	write(t, o.Kube(v), "")
	if err := o.Have(v, o.Kube(v)); err != nil {
		t.Error(err)
	}
}
