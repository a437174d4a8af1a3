// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cotenant-dev/cotenant/plugin/mps"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// driver makes a driver root with these files, or with links to what they name.
func driver(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, target := range files {
		path := filepath.Join(root, name)
		ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target != "" {
			ok(t, os.Symlink(target, path))
			continue
		}
		ok(t, os.WriteFile(path, nil, 0o755))
	}
	return root
}

func TestFindProgram(t *testing.T) {
	const control = "usr/bin/" + controlName
	for name, c := range map[string]struct {
		files      map[string]string
		root, path string // below the driver root
	}{
		"a whole system":     {map[string]string{control: "", "bin/sh": ""}, ".", "/" + control},
		"with linked shell":  {map[string]string{control: "", "bin": "usr/bin", "usr/bin/sh": ""}, ".", "/" + control},
		"no shell":           {map[string]string{"bin/" + controlName: ""}, "", "bin/" + controlName},
		"absolute link":      {map[string]string{"bin/" + controlName: "/opt/nvidia/control", "opt/nvidia/control": ""}, "", "opt/nvidia/control"},
		"link out of it":     {map[string]string{"bin/" + controlName: "../../../../opt/control", "opt/control": ""}, "", "opt/control"},
		"a link to itself":   {map[string]string{"bin/" + controlName: controlName, "usr/local/nvidia/bin/" + controlName: ""}, "", "usr/local/nvidia/bin/" + controlName},
		"linked directories": {map[string]string{"usr": "system", "system/bin/" + controlName: ""}, "", "system/bin/" + controlName},
	} {
		t.Run(name, func(t *testing.T) {
			root := driver(t, c.files)
			p, err := findProgram(root)
			ok(t, err)
			want := program{path: c.path}
			if c.root != "" {
				want.root = root
			} else {
				want.path = filepath.Join(root, c.path)
			}
			if p.root != want.root || p.path != want.path {
				t.Errorf("%s in %q, want %s in %q", p.path, p.root, want.path, want.root)
			}
		})
	}
	_, err := findProgram(driver(t, map[string]string{"etc/passwd": ""}))
	says(t, err, controlName, "usr/bin", "--driver-root")
}

// A daemon gets what the pod has in its environment, but for what would steer CUDA
// or the loader.
func TestEnvironment(t *testing.T) {
	own := []string{"NODE_NAME=n", "CUDA_VISIBLE_DEVICES=7", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1", "LD_PRELOAD=x", "PATH=/", marker + "/other"}
	got := program{env: []string{"PATH=/d/bin"}}.environment(own, "/r/a", []string{"GPU-a", "GPU-b"})
	want := []string{"NODE_NAME=n", "PATH=/d/bin", "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b", "CUDA_MPS_PIPE_DIRECTORY=" + mps.PipeMount, "CUDA_MPS_LOG_DIRECTORY=" + logsMount, marker + "/r/a"}
	if !slices.Equal(got, want) {
		t.Errorf("environment\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Where the driver root is a whole system, it is the daemon's root directory, with a
// /tmp that is not the driver's.
func TestWholeDriverRoot(t *testing.T) {
	n := newNode(t)
	ok(t, os.MkdirAll(filepath.Join(n.cfg.DriverRoot, "bin"), 0o755))
	ok(t, os.WriteFile(filepath.Join(n.cfg.DriverRoot, "bin/sh"), nil, 0o755))
	ok(t, os.Mkdir(filepath.Join(n.cfg.DriverRoot, "tmp"), 0o777))
	machine, err := sim.Create(filepath.Join(n.cfg.DriverRoot, "machine"), sim.Config{GPUs: []sim.GPUConfig{{Product: "H100-80"}, {Product: "H100-80"}}})
	ok(t, err)
	n.machine = machine
	t.Setenv("COTENANT_SIM_STATE", "/machine")
	n.start()
	d := n.quarter()
	n.ensure(d)
	n.serves(d)
	if names, err := os.ReadDir(filepath.Join(n.cfg.DriverRoot, "tmp")); err != nil || len(names) > 0 {
		t.Errorf("the driver's /tmp has %v, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(n.cfg.Logs, d.ID, "control.log")); err != nil {
		t.Errorf("the logs: %v", err)
	}
	ok(t, n.client.Stop(t.Context(), d.ID))
	n.nothingLeft(d.ID)
}
