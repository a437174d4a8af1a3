// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// cluster runs the cluster tool.
func (l *Lab) cluster(ctx context.Context, args ...string) (string, error) {
	return l.run(ctx, nil, l.bin("cluster"), append([]string{"--out", l.Out() + "/cluster"}, args...)...)
}

// NodeAction does to a node what happens to nodes: restart-kubelet,
// stop-kubelet, start-kubelet, restart-containerd, reboot.
func (l *Lab) NodeAction(ctx context.Context, action, node string) error {
	_, err := l.cluster(ctx, "node", "--name", l.name, action, node)
	return err
}

// Exec runs a command on a node.
func (l *Lab) Exec(ctx context.Context, node string, command ...string) (string, error) {
	return l.cluster(ctx, append([]string{"exec", "--name", l.name, "--node", node, "--"}, command...)...)
}

// Kubectl runs kubectl as an admin and returns what it printed.
func (l *Lab) Kubectl(ctx context.Context, args ...string) (string, error) {
	return l.run(ctx, nil, l.Tool("kubectl"), args...)
}

// Apply applies manifests.
func (l *Lab) Apply(ctx context.Context, manifests string) error {
	_, err := l.run(ctx, strings.NewReader(manifests), l.Tool("kubectl"), "apply", "--server-side", "-f", "-")
	return err
}

// Helm runs helm as an admin.
func (l *Lab) Helm(ctx context.Context, args ...string) (string, error) {
	return l.run(ctx, nil, l.Tool("helm"), args...)
}

// run runs a program with the lab's kubeconfig and returns its output. An error
// holds what it said.
func (l *Lab) run(ctx context.Context, in io.Reader, program string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, io.MultiWriter(&errs, l.log)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+l.Out()+"/helm", "HELM_CONFIG_HOME="+l.Out()+"/helm", "HELM_DATA_HOME="+l.Out()+"/helm")
	if l.kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+l.kubeconfig)
	}
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
