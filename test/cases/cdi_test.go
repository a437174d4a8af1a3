// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/cotenant-dev/cotenant/plugin"
	"github.com/cotenant-dev/cotenant/sharing"
)

func mustStat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	ok(t, err)
	return info
}

// Spec files are wiped while the journal is intact (kubernetes/kubernetes#141433,
// dra-example-driver#259, ROCm/k8s-gpu-dra-driver#75, #78).
func TestF61SpecFilesWiped(t *testing.T) {
	damage := map[string]func(t *testing.T, path string){
		"deleted": func(t *testing.T, path string) { ok(t, os.Remove(path)) },
		"cut in half": func(t *testing.T, path string) {
			ok(t, os.Truncate(path, mustStat(t, path).Size()/2))
		},
	}
	for how, harm := range damage {
		t.Run(how, func(t *testing.T) {
			n := newNode(t, []string{"A30-24"})
			n.start()
			c := n.claim("c", "gpu-0")
			got, err := n.P(c)
			ok(t, err)
			whole, err := os.ReadFile(n.cdiFile(c))
			ok(t, err)
			// the kubelet asks again
			harm(t, n.cdiFile(c))
			_, err = n.P(c)
			ok(t, err)
			n.container(ids(got))
			// nobody asks: the start repairs it
			harm(t, n.cdiFile(c))
			n.restart()
			eventually(t, soon, func() string {
				if repaired, err := os.ReadFile(n.cdiFile(c)); err != nil || string(repaired) != string(whole) {
					return "the spec is not what it was"
				}
				return ""
			})
			ok(t, n.U(c))
		})
	}
	t.Run("cannot be written again", func(t *testing.T) {
		n, broken := newBrokenSpecs(t)
		c := n.claim("c", "gpu-0")
		_, err := n.P(c)
		ok(t, err)
		ok(t, os.Remove(n.cdiFile(c)))
		broken.err = syscall.ENOSPC
		_, err = n.P(c)
		refused(t, err, "no space left")
		broken.err = nil
		_, err = n.P(c)
		ok(t, err)
		ok(t, n.U(c))
	})
}

// brokenSpecs fails as a directory does that cannot be written.
type brokenSpecs struct {
	plugin.Specs
	err error
}

func (b *brokenSpecs) Write(ctx context.Context, s sharing.WriteSpec, facts sharing.Facts) error {
	if b.err != nil {
		return b.err
	}
	return b.Specs.Write(ctx, s, facts)
}

func (b *brokenSpecs) Remove(claim string) error {
	if uids, err := b.List(); err == nil && b.err != nil && contains(uids, claim) {
		return b.err
	}
	return b.Specs.Remove(claim)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// newBrokenSpecs is a running node whose CDI directory a test can break without
// being root's match: root may write everywhere.
func newBrokenSpecs(t *testing.T) (*node, *brokenSpecs) {
	broken := &brokenSpecs{}
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.wrapSpecs = func(s plugin.Specs) plugin.Specs { broken.Specs = s; return broken }
	n.start()
	return n, broken
}

// The CDI directory is read-only or missing (kubernetes-sigs/dra-driver-cpu#180,
// cncf-tags/container-device-interface#78).
func TestF62DirectoryReadOnly(t *testing.T) {
	for _, cause := range []error{syscall.EROFS, syscall.EACCES} {
		t.Run(cause.Error(), func(t *testing.T) {
			n, broken := newBrokenSpecs(t)
			c, other := n.claim("c", "gpu-0"), n.claim("other", "gpu-0")
			broken.err = cause
			_, err := n.P(c)
			refused(t, err, cause.Error())
			same(t, "what a failed prepare leaves", n.records(), map[string]string{})
			broken.err = nil
			_, err = n.P(c)
			ok(t, err)
			broken.err = cause
			refused(t, n.U(c), cause.Error())
			_, err = n.P(other)
			refused(t, err, "held", string(c.UID))
			broken.err = nil
			ok(t, n.U(c))
			_, err = n.P(other)
			ok(t, err)
			ok(t, n.U(other))
		})
	}
	t.Run("the path is named", func(t *testing.T) {
		n := newNode(t, []string{"A30-24"})
		n.start()
		ok(t, os.RemoveAll(n.paths.CDIRoot))
		ok(t, os.WriteFile(n.paths.CDIRoot, nil, 0o644)) // not a directory, for root too
		c := n.claim("c", "gpu-0")
		_, err := n.P(c)
		refused(t, err, n.paths.CDIRoot, "--cdi-root")
		ok(t, os.Remove(n.paths.CDIRoot))
		ok(t, n.U(c))
	})
	t.Run("missing", func(t *testing.T) {
		n := newNode(t, []string{"A30-24"})
		if _, err := os.Stat(n.paths.CDIRoot); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal("the directory is there before the start")
		}
		n.start()
		c := n.claim("c", "gpu-0")
		ok(t, os.RemoveAll(n.paths.CDIRoot)) // and vanishes again later
		_, err := n.P(c)
		ok(t, err)
		ok(t, os.RemoveAll(n.paths.CDIRoot))
		ok(t, n.U(c))
	})
}

// An id of a kind whose spec was never written (dra-driver-nvidia-gpu#736,
// cncf-tags/container-device-interface#115). Whole GPU and admin claim.
func TestF64EveryIDResolves(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.start()
	var all []string
	for _, c := range []struct {
		name    string
		prepare func() ([]string, error)
	}{
		{"whole", func() ([]string, error) { d, err := n.P(n.claim("whole", "gpu-0")); return ids(d), err }},
		{"two", func() ([]string, error) { d, err := n.P(n.claim("two", "gpu-1")); return ids(d), err }},
		{"admin", func() ([]string, error) { d, err := n.P(n.adminClaim("admin", "gpu-0")); return ids(d), err }},
	} {
		got, err := c.prepare()
		ok(t, err)
		if len(got) == 0 {
			t.Fatalf("%s: no ids", c.name)
		}
		all = append(all, got...)
	}
	seen := map[string]bool{}
	cache, err := cdiapi.NewCache(cdiapi.WithSpecDirs(n.paths.CDIRoot))
	ok(t, err)
	for _, id := range all {
		if seen[id] {
			t.Errorf("id %s was given out twice", id)
		}
		seen[id] = true
		if cache.GetDevice(id) == nil {
			t.Errorf("id %s resolves to nothing", id)
		}
	}
	same(t, "vendors", cache.ListVendors(), []string{"k8s.gpu.nvidia.com"})
	for _, spec := range cache.GetVendorSpecs("k8s.gpu.nvidia.com") {
		ok(t, cdispecs.ValidateVersion(spec.Spec))
		if mode := mustStat(t, spec.GetPath()).Mode().Perm(); mode != 0o644 {
			t.Errorf("%s has mode %o", spec.GetPath(), mode)
		}
	}
	for _, name := range n.cdiFiles() {
		if !strings.HasPrefix(name, "k8s.gpu.nvidia.com-claim_") || filepath.Ext(name) != ".yaml" {
			t.Errorf("the file %s was left in the CDI directory", name)
		}
	}
}

// Characters in names (Project-HAMi/HAMi#2909, #2910; canonical/lxd#9518;
// harvester/vm-import-controller#30). Node names; MIG ids return with MIG.
func TestF65NodeNames(t *testing.T) {
	long := strings.Repeat("gpu-rack-7.", 10) + "dc1.example.com"
	for _, name := range []string{"gpu.rack-7.dc1.example.com", "192.168.2.8", long[:120-len("1.com")] + "1.com", long[:120-len("2.com")] + "2.com"} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, []string{"A30-24"}, named(name))
			n.start()
			n.awaitDevices("gpu-0")
			for _, s := range n.slices() {
				same(t, "pool name", s.Spec.Pool.Name, name)
				same(t, "node name", *s.Spec.NodeName, name)
				for k, v := range s.Labels {
					if len(v) > 63 {
						t.Errorf("label %s is longer than 63 characters: %s", k, v)
					}
				}
			}
			c := n.claim("c", "gpu-0")
			got, err := n.P(c)
			ok(t, err)
			same(t, "id", ids(got), []string{"k8s.gpu.nvidia.com/claim=" + string(c.UID) + "-gpu-0"})
			same(t, "pool", got[0].PoolName, name)
			n.container(ids(got))
		})
	}
}

// An image sets NVIDIA_VISIBLE_DEVICES=all (NVIDIA/gpu-operator#700,
// dra-driver-nvidia-gpu#426, google/gvisor#13620). Whole GPU and admin.
func TestF97VisibleDevicesVariable(t *testing.T) {
	n := newNode(t, []string{"A30-24", "A30-24"})
	n.start()
	whole, err := n.P(n.claim("whole", "gpu-1"))
	ok(t, err)
	admin, err := n.P(n.adminClaim("admin", "gpu-1"))
	ok(t, err)
	for what, given := range map[string][]string{"whole": ids(whole), "admin": ids(admin)} {
		spec := n.container(given, "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_MIG_MONITOR_DEVICES=all")
		var visible []string
		for _, e := range spec.Process.Env {
			if strings.HasPrefix(e, "NVIDIA_VISIBLE_DEVICES=") {
				visible = append(visible, e)
			}
		}
		same(t, what+": the variable", visible, []string{"NVIDIA_VISIBLE_DEVICES=void"})
		same(t, what+": nodes", nodesOf(spec), []string{"/dev/nvidia1"})
		for _, m := range spec.Mounts {
			if !contains(m.Options, "ro") {
				t.Errorf("%s: mount %s is writable: %v", what, m.Destination, m.Options)
			}
			if strings.Contains(m.Destination, "nvidia-cuda-mps") {
				t.Errorf("%s: the MPS program %s is in a tenant's container", what, m.Destination)
			}
		}
		for _, h := range append(spec.Hooks.CreateContainer, spec.Hooks.CreateRuntime...) {
			if contains(h.Args, "apply-cuda-memory-limits") {
				t.Errorf("%s: the hook that obeys the pod's author is there", what)
			}
		}
	}
}
