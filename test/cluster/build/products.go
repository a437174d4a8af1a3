// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

func (b *Builder) module(name string) string {
	return filepath.Join(b.Repository, "test", "cluster", name)
}

// kube compiles etcd and Kubernetes of the version.
func (b *Builder) kube(ctx context.Context, v Version) (string, error) {
	g := goBuild{
		dir:      b.module("kube"),
		target:   b.Output.Kube(v),
		ldflags:  versionFlags(v),
		packages: []string{"."},
	}
	if v.String() != DefaultVersion {
		g.dir, g.modMod = filepath.Join(filepath.Dir(g.target), "src"), true
		if err := b.derive(ctx, g.dir, v); err != nil {
			return "", err
		}
	}
	return b.compile(ctx, g, g.target)
}

// versionFlags set the version at link time; without them everything that reads
// it sees v0.0.0-master.
func versionFlags(v Version) string {
	const version = "k8s.io/component-base/version."
	return fmt.Sprintf("-X %sgitVersion=%s -X %sgitMajor=1 -X %sgitMinor=%s", version, v.Git(), version, version, v.Minor())
}

// derive writes the kube module for another version into dir, if it is not
// there already: the build completes its go.mod, and that must stay.
func (b *Builder) derive(ctx context.Context, dir string, v Version) error {
	source := stamp{inputs: []string{b.module("kube")}, words: []string{v.String()}}
	marker := filepath.Join(filepath.Dir(dir), "derived")
	fresh, sum, err := source.fresh([]string{marker})
	if err != nil || fresh {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(b.module("kube"))); err != nil {
		return fmt.Errorf("derive the module for %s: %w", v, err)
	}
	committed, err := os.ReadFile(b.module("kube/go.mod"))
	if err != nil {
		return err
	}
	upstream, err := b.upstreamModule(ctx, v)
	if err != nil {
		return err
	}
	text, err := deriveModule(committed, upstream, v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644); err != nil {
		return err
	}
	// Its sums are those of another release; the build writes its own, verified
	// against the checksum database.
	if err := os.Remove(filepath.Join(dir, "go.sum")); err != nil {
		return err
	}
	if err := os.WriteFile(marker, []byte(v.String()), 0o644); err != nil {
		return err
	}
	return source.write([]string{marker}, sum)
}

// upstreamModule returns the go.mod of k8s.io/kubernetes at the version.
func (b *Builder) upstreamModule(ctx context.Context, v Version) ([]byte, error) {
	out, err := b.goOutput(ctx, os.TempDir(), "mod", "download", "-json", kubernetesModule+"@"+v.Git())
	if err != nil {
		return nil, fmt.Errorf("%w\nknown to work: %s", err, strings.Join(Known(), ", "))
	}
	var module struct{ GoMod string }
	if err := json.Unmarshal([]byte(out), &module); err != nil {
		return nil, fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return os.ReadFile(module.GoMod)
}

func (b *Builder) containerd(ctx context.Context) (string, error) {
	const module = "github.com/containerd/containerd/v2"
	const commands = module + "/cmd/"
	release, err := requiredVersion(b.module("containerd/go.mod"), module)
	if err != nil {
		return "", err
	}
	var packages, products []string
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
		packages = append(packages, commands+name)
		products = append(products, b.Output.Bin(name))
	}
	return b.compile(ctx, goBuild{
		dir:    b.module("containerd"),
		target: b.Output.Bin("") + "/",
		// Snapshotters that need C libraries or kernel modules nobody has here.
		tags:     "no_btrfs,no_devmapper,no_zfs",
		ldflags:  "-X " + module + "/version.Version=" + release,
		packages: packages,
	}, products...)
}

func (b *Builder) clients(ctx context.Context) (string, error) {
	library, err := requiredVersion(b.module("clients/go.mod"), "k8s.io/kubectl")
	if err != nil {
		return "", err
	}
	release, err := ParseVersion("1" + strings.TrimPrefix(library, "v0"))
	if err != nil {
		return "", err
	}
	return b.compile(ctx, goBuild{
		dir:      b.module("clients"),
		target:   b.Output.Bin("") + "/",
		ldflags:  versionFlags(release),
		packages: []string{"./kubectl", "helm.sh/helm/v4/cmd/helm"},
	}, b.Output.Bin("kubectl"), b.Output.Bin("helm"))
}

// requiredVersion returns the version that a go.mod requires of a module.
func requiredVersion(file, module string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	parsed, err := modfile.Parse(file, text, nil)
	if err != nil {
		return "", err
	}
	for _, r := range parsed.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", file, module)
}

// Tools compiles the sandbox program and the image builder.
func (b *Builder) Tools(ctx context.Context) (string, error) {
	pause, err := b.compile(ctx, goBuild{
		dir: b.module("pause"), target: b.Output.Bin("pause"), packages: []string{"."},
	}, b.Output.Bin("pause"))
	if err != nil {
		return "", err
	}
	image, err := b.compile(ctx, goBuild{
		dir: filepath.Join(b.Repository, "tools"), target: b.Output.Bin("image"), packages: []string{"./image"},
	}, b.Output.Bin("image"))
	if pause == image {
		return pause, err
	}
	return pause + ", " + image, err
}

// ImageNames are the images that every node is given.
func ImageNames() []string { return []string{"pause", "busybox"} }

// Images makes the images that every node is given.
func (b *Builder) Images(ctx context.Context) (string, error) {
	result := "up to date"
	for _, name := range ImageNames() {
		made, err := b.image(ctx, name)
		if err != nil {
			return "", err
		}
		if made {
			result = "made"
		}
	}
	return result, nil
}

func (b *Builder) image(ctx context.Context, name string) (bool, error) {
	spec := filepath.Join(b.module("images"), name+".yaml")
	product := b.Output.Image(name)
	source := stamp{inputs: []string{spec, b.Output.Bin("image"), b.Output.Bin("pause"), busyboxPath}}
	fresh, sum, err := source.fresh([]string{product})
	if err != nil || fresh {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(product), 0o755); err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, b.Output.Bin("image"), "--file", spec, "--source", b.Output.Bin(""), "--output", product)
	if out, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("image %s: %w\n%s", name, err, out)
	}
	return true, source.write([]string{product}, sum)
}
