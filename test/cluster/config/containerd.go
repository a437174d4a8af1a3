// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// containerdFile is the configuration of containerd 2.
//   - restrict_oom_score_adj: where nobody has CAP_SYS_RESOURCE, a container that
//     asks for less than its parent dies in runc.
//   - disable_apparmor: containerd would load its profile into the machine's
//     kernel and leave it there.
const containerdFile = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "{{.Socket}}"

[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{{.Snapshotter}}"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{{.Sandbox}}"

[plugins."io.containerd.cri.v1.runtime"]
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{{.CNIPlugins}}"]
    conf_dir = "{{.Dir}}/cni"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      base_runtime_spec = "{{.Dir}}/base-spec.json"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "{{.Runc}}"
        SystemdCgroup = false
`

// Containerd returns the configuration of containerd.
func (n Node) Containerd() ([]byte, error) {
	t, err := template.New("containerd").Parse(containerdFile)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	data := struct {
		Node
		Socket, Sandbox string
	}{n, ContainerdSocket, SandboxImage}
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("write containerd's configuration: %w", err)
	}
	return []byte(b.String()), nil
}

// BaseSpec adds bind mounts of the given paths, on themselves, to the OCI
// runtime spec from which containerd makes every container's. The default spec
// comes from `ctr oci spec`, since containerd takes a given one as it is.
func BaseSpec(defaultSpec []byte, binds ...string) ([]byte, error) {
	var spec map[string]any
	if err := json.Unmarshal(defaultSpec, &spec); err != nil {
		return nil, fmt.Errorf("read the default runtime spec: %w", err)
	}
	mounts, ok := spec["mounts"].([]any)
	if !ok {
		return nil, fmt.Errorf("the default runtime spec has no mounts; is it the output of `ctr oci spec`?")
	}
	for _, path := range binds {
		mounts = append(mounts, map[string]any{
			"destination": path, "source": path, "type": "bind", "options": []string{"rbind", "rw"},
		})
	}
	spec["mounts"] = mounts
	return marshal(spec)
}
