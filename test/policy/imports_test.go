// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/cotenant-dev/cotenant/"

// room is the part of a path that the rules are about.
type room string

// mayImport says which rooms a room may import, itself aside. What is not listed
// here is a room that nobody planned.
var mayImport = map[room][]room{
	"api":               {},
	"mig":               {"api"},
	"sharing":           {"api", "mig"},
	"plugin":            {"api", "mig", "sharing"},
	"plugin/journal":    {"api", "mig", "sharing"},
	"plugin/nvml":       {"api", "mig", "sharing"},
	"plugin/cdi":        {"api", "mig", "sharing"},
	"plugin/kinds":      {"api", "mig", "sharing"},
	"plugin/selector":   {"api", "mig", "sharing"},
	"plugin/timeslice":  {"api", "mig", "sharing"},
	"plugin/mps":        {"api", "mig", "sharing"},
	"controller":        {"api", "mig", "sharing"},
	"cmd":               {"api", "mig", "sharing", "plugin", "plugin/journal", "plugin/nvml", "plugin/cdi", "plugin/kinds", "plugin/selector", "plugin/timeslice", "plugin/mps", "controller"},
	"test/sim":          {},
	"test/sim/products": {"mig"},
	"test/conformance":  {"test/sim"},
}

// pure rooms take values and return values. Their own files import none of
// forbidden, and nothing beneath them comes from forbiddenBeneath.
var pure = []room{"api", "mig", "sharing"}

var forbidden = []string{
	"context", "os", "os/", "net", "net/", "time", "log", "log/", "io/ioutil", "path/filepath", "syscall", "unsafe", "C", "math/rand", "math/rand/", "sync", "sync/", "runtime",
	"k8s.io/klog/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/NVIDIA/", "go.etcd.io/", "golang.org/x/sys/",
}

var forbiddenBeneath = []string{
	"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/NVIDIA/", "go.etcd.io/bbolt", "os/exec",
}

// pkg is what `go list` tells.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			t.Fatalf("go list: %s", ee.Stderr)
		}
		t.Fatal(err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// roomOf returns the room of an import path of ours, the longest that is named.
func roomOf(path string) (room, bool) {
	rel, ours := strings.CutPrefix(path, module)
	if !ours {
		return "", false
	}
	best := room("")
	for r := range mayImport {
		if (rel == string(r) || strings.HasPrefix(rel, string(r)+"/")) && len(r) > len(best) {
			best = r
		}
	}
	return best, best != ""
}

func TestImportGraph(t *testing.T) {
	for _, p := range list(t, "./...") {
		from, known := roomOf(p.ImportPath)
		if !known {
			if !strings.HasPrefix(p.ImportPath, module+"test/") {
				t.Errorf("%s is in no room of the design", p.ImportPath)
			}
			continue // other test packages may import everything
		}
		for _, imp := range p.Imports {
			to, ours := roomOf(imp)
			if strings.HasPrefix(imp, module+"test/") && !strings.HasPrefix(string(from), "test/") {
				t.Errorf("%s ships and imports %s", p.ImportPath, imp)
			}
			if ours && to != from && !slices.Contains(mayImport[from], to) {
				t.Errorf("%s imports %s: room %s may import %v", p.ImportPath, imp, from, mayImport[from])
			}
		}
	}
}

func TestPureRooms(t *testing.T) {
	for _, r := range pure {
		for _, p := range list(t, "./"+string(r)+"/...") {
			for _, imp := range p.Imports {
				if hit := match(forbidden, imp); hit != "" {
					t.Errorf("%s is pure and imports %s", p.ImportPath, imp)
				}
			}
			for _, dep := range p.Deps {
				if hit := match(forbiddenBeneath, dep); hit != "" {
					t.Errorf("%s is pure and %s stands beneath it", p.ImportPath, dep)
				}
			}
		}
	}
}

// match returns the first pattern that the import path meets: an exact path, or
// a prefix when it ends in a slash.
func match(patterns []string, path string) string {
	for _, p := range patterns {
		if path == p || (strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)) {
			return p
		}
	}
	return ""
}

// The pure rooms serve contributors and tools on any system.
func TestPureRoomsBuildEverywhere(t *testing.T) {
	for _, goos := range []string{"darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			args := []string{"build"}
			for _, r := range pure {
				args = append(args, "./"+string(r)+"/...")
			}
			cmd := exec.Command("go", args...)
			cmd.Dir = root(t)
			cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go build: %v\n%s", err, out)
			}
		})
	}
}
