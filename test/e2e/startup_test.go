// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cotenant-dev/cotenant/test/lab"
	"github.com/cotenant-dev/cotenant/test/sim"
)

// host is a place to run the built plugin outside any pod: a simulated machine
// and directories like a kubelet's.
type host struct {
	dir  string
	sim  string
	args map[string]string
}

func newHost(t *testing.T) *host {
	t.Helper()
	return newHostOf(t, "no-such-node", cluster, "A30-24")
}

// newHostOf is a host that is a node of a cluster.
func newHostOf(t *testing.T, node string, of *lab.Lab, gpus ...string) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "host")
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &host{dir: dir, sim: filepath.Join(dir, "sim")}
	cfg := sim.Config{Driver: "535.129.03", CUDA: "12.2", Seed: 1, Bin: of.Path("out/sim")}
	for _, g := range gpus {
		cfg.GPUs = append(cfg.GPUs, sim.GPUConfig{Product: g})
	}
	_, err = sim.Create(h.sim, cfg)
	ok(t, err)
	root := filepath.Join(h.sim, "root")
	h.args = map[string]string{
		"node-name": node, "kubeconfig": of.Kubeconfig(), "cdi-root": filepath.Join(dir, "cdi"),
		"container-driver-root": root, "nvidia-driver-root": root, "proc-root": filepath.Join(root, "proc"), "sys-root": filepath.Join(root, "sys"),
		"kubelet-plugins-directory-path": filepath.Join(dir, "p"), "kubelet-registrar-directory-path": filepath.Join(dir, "r"),
	}
	ok(t, os.Mkdir(filepath.Join(dir, "r"), 0o755))
	return h
}

// process is a running plugin.
type process struct {
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	done   chan error
}

// start runs the plugin. before, if not "", is a shell command that prepares its
// private mount namespace.
func (h *host) start(t *testing.T, before string) *process {
	t.Helper()
	line := "exec " + cluster.Path("out/bin/cotenant-plugin")
	for k, v := range h.args {
		line += fmt.Sprintf(" --%s=%s", k, v)
	}
	if before != "" {
		line = before + " && " + line
	}
	p := &process{cmd: exec.Command("unshare", "-m", "sh", "-c", line), stderr: &bytes.Buffer{}, done: make(chan error, 1)}
	p.cmd.Stderr = p.stderr
	p.cmd.Env = append(os.Environ(), "COTENANT_SIM_STATE="+h.sim)
	ok(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// exits waits for the process's own end, and checks code and last line.
func (p *process) exits(t *testing.T, code int, says ...string) {
	t.Helper()
	select {
	case err := <-p.done:
		var ee *exec.ExitError
		if !errors.As(err, &ee) || ee.ExitCode() != code {
			t.Fatalf("it ended with %v, want exit code %d\n%s", err, code, p.stderr)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("it goes on\n%s", p.stderr)
	}
	lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "cotenant-plugin: ") {
		t.Errorf("the last line is not its own: %q", last)
	}
	for _, s := range says {
		if !strings.Contains(last, s) {
			t.Errorf("it does not say %q: %s", s, last)
		}
	}
}

// serves waits until the plugin's socket is there.
func (h *host) serves(t *testing.T, p *process) {
	t.Helper()
	socket := filepath.Join(h.args["kubelet-plugins-directory-path"], "gpu.nvidia.com/dra.sock")
	ok(t, lab.Eventually(context.Background(), 30*time.Second, func(context.Context) (string, error) {
		select {
		case err := <-p.done:
			return "", fmt.Errorf("it ended: %v\n%s", err, p.stderr)
		default:
		}
		if _, err := os.Stat(socket); err != nil {
			return "no socket", nil
		}
		return "", nil
	}))
}

func TestStartUp(t *testing.T) {
	t.Run("unknown flag", func(t *testing.T) {
		h := newHost(t)
		h.args["no-such-flag"] = "x"
		h.start(t, "").exits(t, 2, "no-such-flag")
	})
	t.Run("plugin directory on a full disk", func(t *testing.T) {
		h := newHost(t)
		plugins := h.args["kubelet-plugins-directory-path"]
		ok(t, os.Mkdir(plugins, 0o755))
		full := fmt.Sprintf("mount -t tmpfs -o size=4k tmpfs %[1]s && mkdir -p %[1]s/gpu.nvidia.com && (dd if=/dev/zero of=%[1]s/fill bs=4k count=1 2>/dev/null; true)", plugins)
		h.start(t, full).exits(t, 1, "no space left on device", "gpu.nvidia.com")
	})
	t.Run("plugin directory read-only", func(t *testing.T) {
		h := newHost(t)
		plugins := h.args["kubelet-plugins-directory-path"]
		ok(t, os.MkdirAll(plugins+"/gpu.nvidia.com", 0o755))
		h.start(t, fmt.Sprintf("mount -t tmpfs tmpfs %[1]s && mkdir %[1]s/gpu.nvidia.com && mount -o remount,ro %[1]s", plugins)).
			exits(t, 1, "read-only file system", "--kubelet-plugins-directory-path")
	})
	t.Run("no registry", func(t *testing.T) {
		h := newHost(t)
		ok(t, os.Remove(h.args["kubelet-registrar-directory-path"]))
		h.start(t, "").exits(t, 1, "no such file or directory", "--kubelet-registrar-directory-path")
	})
	t.Run("no cluster", func(t *testing.T) {
		h := newHost(t)
		h.args["kubeconfig"] = ""
		h.start(t, "unset KUBERNETES_SERVICE_HOST KUBECONFIG").exits(t, 1, "not in a cluster", "--kubeconfig")
	})
	t.Run("unreadable kubeconfig", func(t *testing.T) {
		h := newHost(t)
		h.args["kubeconfig"] = filepath.Join(h.dir, "absent")
		h.start(t, "").exits(t, 1, h.args["kubeconfig"])
	})
	t.Run("second plugin on the same journal", func(t *testing.T) {
		h := newHost(t)
		first := h.start(t, "")
		h.serves(t, first)
		h.start(t, "").exits(t, 1, "the journal is in use")
		ok(t, first.cmd.Process.Signal(syscall.SIGTERM))
		if err := <-first.done; err != nil {
			t.Errorf("SIGTERM: %v\n%s", err, first.stderr)
		}
	})
	t.Run("no driver below the driver root", func(t *testing.T) {
		h := newHost(t)
		h.args["container-driver-root"] = filepath.Join(h.dir, "nothing")
		p := h.start(t, "")
		h.serves(t, p) // releases must work; the driver is waited for
		if !strings.Contains(p.stderr.String(), "no libnvidia-ml.so.1 below") {
			t.Errorf("it does not say what is missing:\n%s", p.stderr)
		}
	})
	t.Run("missing CDI directory", func(t *testing.T) {
		h := newHost(t)
		p := h.start(t, "")
		h.serves(t, p)
		if _, err := os.Stat(h.args["cdi-root"]); err != nil {
			t.Errorf("it was not made: %v", err)
		}
	})
}
