// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/cluster/build"
	"github.com/cotenant-dev/cotenant/test/cluster/config"
	"github.com/cotenant-dev/cotenant/test/cluster/machine"
	"github.com/cotenant-dev/cotenant/test/cluster/pki"
)

func (c *Cluster) nodeSettings(s state, n nodeState) config.Node {
	return config.Node{
		Name: n.Name, Index: n.Index, Labels: n.Labels, Dir: c.nodeFile(n, "etc"),
		Authority:    c.file(config.AuthorityFile),
		FeatureGates: s.FeatureGates, CNIPlugins: build.CNIPlugins,
	}
}

// configureNode writes the files of the node's daemons.
func (c *Cluster) configureNode(s state, n nodeState) error {
	settings := c.nodeSettings(s, n)
	var err error
	if settings.Runc, err = build.FindProgram("runc"); err != nil {
		return fmt.Errorf("%w: `cluster build` installs it", err)
	}
	if settings.Snapshotter, err = snapshotter(c.dir()); err != nil {
		return err
	}
	spec, err := exec.Command(c.Output.Bin("ctr"), "oci", "spec").Output()
	if err != nil {
		return fmt.Errorf("ask ctr for the default runtime spec: %w", err)
	}
	var binds []string
	if n.Sim != "" {
		binds = []string{machine.SimPoint}
	}
	files := map[string]func() ([]byte, error){
		"kubelet.json":         settings.Kubelet,
		"cni/10-pods.conflist": settings.CNI,
		"containerd.toml":      settings.Containerd,
		"base-spec.json":       func() ([]byte, error) { return config.BaseSpec(spec, binds...) },
		// No name server: lookups are refused at once instead of timing out.
		"resolv.conf": func() ([]byte, error) { return []byte("nameserver " + config.DNSIP + "\n"), nil },
	}
	for name, render := range files {
		text, err := render()
		if err != nil {
			return fmt.Errorf("node %s: %s: %w", n.Name, name, err)
		}
		if err := c.write(filepath.Join("nodes", n.Name, "etc", name), text, 0o644); err != nil {
			return err
		}
	}
	return c.nodeKubeconfig(s, n)
}

// overlayMagic is OVERLAYFS_SUPER_MAGIC of linux/magic.h.
const overlayMagic = 0x794c7630

// snapshotter chooses containerd's: an overlay cannot lie on an overlay, as the
// root of a container is.
func snapshotter(dir string) (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return "", fmt.Errorf("file system of %s: %w", dir, err)
	}
	if fs.Type == overlayMagic {
		return "native", nil
	}
	return "overlayfs", nil
}

// nodeKubeconfig writes the kubelet's kubeconfig, once.
func (c *Cluster) nodeKubeconfig(s state, n nodeState) error {
	file := filepath.Join("nodes", n.Name, "etc", "kubelet.kubeconfig")
	if _, err := os.Stat(c.file(file)); err == nil {
		return nil
	}
	authority, err := c.authority(s)
	if err != nil {
		return err
	}
	subject := pki.Subject{CommonName: "system:node:" + n.Name, Organizations: []string{"system:nodes"}}
	return c.kubeconfig(authority, subject, fmt.Sprintf("https://%s:%d", config.ControlPlaneIP, config.APIPort), file)
}
