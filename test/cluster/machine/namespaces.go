// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
)

// Namespaces are those of a process that keeps them alive.
type Namespaces struct {
	PID int
	// Join is the command line, up to the command itself, that moves a process
	// into the node's control group; it makes these the namespaces of a node:
	// network, mounts and control groups. Without it they are the network alone.
	Join []string
}

// Command returns args as run inside. nsenter replaces itself by the program, so
// the process id stays; it is used rather than `ip netns exec`, which mounts a
// new /sys and so hides the control groups.
func (n Namespaces) Command(args []string) []string {
	dir := "/proc/" + strconv.Itoa(n.PID) + "/ns/"
	enter := append(slices.Clone(n.Join), "nsenter", "--net="+dir+"net")
	if n.Join != nil {
		enter = append(enter, "--mount="+dir+"mnt", "--cgroup="+dir+"cgroup")
	}
	return append(append(enter, "--"), args...)
}

// Exec replaces the calling process by args inside, as a part of the cluster in
// dir, so that stopping the cluster ends it.
func (n Namespaces) Exec(dir, part string, args []string) error {
	line := n.Command(args)
	path, err := exec.LookPath(line[0])
	if err != nil {
		return fmt.Errorf("%w; nsenter is in the package util-linux", err)
	}
	return syscall.Exec(path, line, append(os.Environ(), Mark(dir, part)...))
}
