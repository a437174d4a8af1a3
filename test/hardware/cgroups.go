// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"os"
	"path/filepath"
	"strings"
)

// mounted is where Linux has control groups v2 (cgroups(7)).
const mounted = "/sys/fs/cgroup"

// cgroup is a control group, by its directory.
type cgroup struct{ what, path string }

// cgroups are those whose limits are asked for. The product asks for those of
// the one that the kubelet has pods in, or of the topmost one, to find out whether a
// GPU has limits; the driver may say otherwise of one that has processes, as
// containers' have, and of one that is not there.
func cgroups() []cgroup {
	all := []cgroup{{"all containers", mounted}, {"a container that is gone", filepath.Join(mounted, "cotenant-is-not-there")}}
	if own := ownCgroup(); own != "" && own != mounted {
		all = append(all, cgroup{"a container", own})
	}
	return all
}

// ownCgroup is that of this process, or "" where it has none of v2 or cannot see it.
func ownCgroup() string {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if path, v2 := strings.CutPrefix(strings.TrimSpace(line), "0::"); v2 {
			dir := filepath.Join(mounted, path)
			if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil {
				return dir
			}
		}
	}
	return ""
}
