// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/plugin/mps"
)

// What keeps the supervisor from running daemons is told, refuses every start, and
// is noticed when it is gone.
func TestUnable(t *testing.T) {
	for name, c := range map[string]struct {
		spoil, mend func(n *node)
		says        []string
	}{
		"no driver": {
			func(n *node) { ok(n.t, os.Rename(n.cfg.DriverRoot, n.cfg.DriverRoot+".gone")) },
			func(n *node) { ok(n.t, os.Rename(n.cfg.DriverRoot+".gone", n.cfg.DriverRoot)) },
			[]string{controlName, "--driver-root"},
		},
		"mounts stay here": {
			func(n *node) { ok(n.t, unix.Mount("", n.cfg.Root, "", unix.MS_PRIVATE, "")) },
			func(n *node) { ok(n.t, unix.Mount("", n.cfg.Root, "", unix.MS_SHARED, "")) },
			[]string{"would not reach the host", "Bidirectional"},
		},
		"nobody gets there": {
			func(n *node) { ok(n.t, os.Chmod(filepath.Dir(n.cfg.Root), 0o700)) },
			func(n *node) { ok(n.t, os.Chmod(filepath.Dir(n.cfg.Root), 0o755)) },
			[]string{"0700", "chmod o+x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.start()
			c.spoil(n)
			h, err := n.client.Hello(t.Context())
			ok(t, err)
			for _, w := range c.says {
				if !strings.Contains(h.Unable, w) {
					t.Errorf("unable: %q, want one that says %q", h.Unable, w)
				}
			}
			err = n.client.Ensure(t.Context(), n.quarter())
			if says(t, err, append(c.says, "gpu-0-quarter-4f2a")...); api.ReasonOf(err) != api.Unavailable {
				t.Errorf("reason %q", api.ReasonOf(err))
			}
			if _, err := os.Lstat(filepath.Join(n.cfg.Root, "gpu-0-quarter-4f2a")); err == nil {
				t.Error("something was begun")
			}
			c.mend(n)
			n.ensure(n.quarter())
		})
	}
}

// Where it does not see the host's processes, limits would have no effect.
func TestUnableInAProcessNamespace(t *testing.T) {
	n := newNode(t)
	n.processIn(unix.CLONE_NEWPID)
	says(t, n.client.Ensure(t.Context(), n.quarter()), "hostPID")
}

func TestHello(t *testing.T) {
	n := newNode(t)
	lib := filepath.Join(n.cfg.DriverRoot, "usr/lib/x86_64-linux-gnu")
	ok(t, os.MkdirAll(lib, 0o755))
	ok(t, os.WriteFile(filepath.Join(lib, "libcuda.so.580.65.06"), nil, 0o644))
	ok(t, os.Symlink("libcuda.so.580.65.06", filepath.Join(lib, "libcuda.so.1")))
	n.start()
	h, err := n.client.Hello(t.Context())
	ok(t, err)
	if h.Version != "test" || h.Protocol != mps.Protocol || !h.MultiUser || h.Root != "/host/r" || h.Unable != "" || h.DriverVersion != "580.65.06" || h.Instance == "" {
		t.Errorf("hello %+v", h)
	}
}
