// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	busyboxPath = "/bin/busybox"
	// CNIPlugins is where Debian's package puts the CNI plugins.
	CNIPlugins = "/usr/lib/cni"
)

// need is something a node takes from the machine, and the Debian package that
// has it.
type need struct{ file, pkg string }

func needs() []need {
	return []need{
		{"runc", "runc"},
		{"nsenter", "util-linux"},
		{"mount", "mount"},
		{"ip", "iproute2"},
		{busyboxPath, "busybox-static"},
		{CNIPlugins + "/ptp", "containernetworking-plugins"},
		{CNIPlugins + "/host-local", "containernetworking-plugins"},
		{CNIPlugins + "/loopback", "containernetworking-plugins"},
	}
}

// FindProgram looks for a program in PATH and where administrators' programs
// are, which an ordinary user's PATH lacks.
func FindProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %q is not installed", name)
}

// missing returns the packages that have to be installed.
func missing(needs []need) []string {
	var pkgs []string
	seen := map[string]bool{}
	for _, n := range needs {
		_, err := FindProgram(n.file)
		if err != nil && !seen[n.pkg] {
			seen[n.pkg] = true
			pkgs = append(pkgs, n.pkg)
		}
	}
	return pkgs
}

// packages installs what is missing if it may, and else says what is.
func (b *Builder) packages(ctx context.Context) (string, error) {
	pkgs := missing(needs())
	if len(pkgs) == 0 {
		return "all there", nil
	}
	list := strings.Join(pkgs, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", fmt.Errorf("install these Debian packages, or what your distribution calls them: %s", list)
	}
	fmt.Fprintf(b.Progress, "  apt-get install %s\n", list)
	args := append([]string{"install", "--yes", "--no-install-recommends"}, pkgs...)
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install %s: %w; `apt-get update` may help\n%s", list, err, out)
	}
	if still := missing(needs()); len(still) > 0 {
		return "", fmt.Errorf("packages %v are installed, and still something of theirs is missing", still)
	}
	return "installed " + list, nil
}
