// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/cotenant-dev/cotenant/plugin/mps/supervisor"
)

// version is set when the program is linked.
var version = "0.1.0-dev"

// options are what the command line says.
type options struct {
	socket     string
	root       string
	hostRoot   string
	logs       string
	driverRoot string
	shmSize    string
	label      string
	why        string
	verbosity  int
}

func (o *options) register(cmd *cobra.Command) {
	all, own := cmd.PersistentFlags(), cmd.Flags()
	all.StringVar(&o.socket, "socket", "/run/cotenant/mps.sock", "Unix socket on which the node plugin asks")
	own.StringVar(&o.root, "root", "/run/cotenant/mps", "directory of the daemons' directories; keep it short, since sockets below it must stay below 107 bytes")
	own.StringVar(&o.hostRoot, "host-root", "", "the same directory as the host has it; --root if empty")
	own.StringVar(&o.logs, "log-dir", "/var/log/cotenant/mps", "directory of the daemons' logs; not below --root, which tenants have parts of")
	own.StringVar(&o.driverRoot, "driver-root", "/driver-root", "driver root as this process sees it")
	own.StringVar(&o.shmSize, "shm-size", "25%", "bound of each daemon's shared memory: an amount such as 8g, or a percentage of the memory")
	own.StringVar(&o.label, "selinux-label", "system_u:object_r:container_file_t:s0", "label of what containers mount, where SELinux is on")
	own.IntVarP(&o.verbosity, "v", "v", 0, "log level")
}

// shmSize is what tmpfs takes for size=, see tmpfs(5).
var shmSize = regexp.MustCompile(`^([1-9][0-9]{0,17}[kKmMgG]?|[1-9][0-9]?%|100%)$`)

// check tells what can never work.
func (o *options) check() error {
	if o.hostRoot == "" {
		o.hostRoot = o.root
	}
	for _, p := range []struct{ flag, path string }{
		{"socket", o.socket}, {"root", o.root}, {"host-root", o.hostRoot}, {"log-dir", o.logs}, {"driver-root", o.driverRoot},
	} {
		if !filepath.IsAbs(p.path) {
			return fmt.Errorf("--%s %q must be an absolute path", p.flag, p.path)
		}
	}
	for _, p := range []struct{ flag, path string }{{"socket", o.socket}, {"log-dir", o.logs}} {
		if rel, err := filepath.Rel(o.root, p.path); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("--%s %q lies below --root %q, where only daemons' directories may be", p.flag, p.path, o.root)
		}
	}
	if !shmSize.MatchString(o.shmSize) {
		return fmt.Errorf("--shm-size %q: want an amount such as 8g, or a percentage such as 25%%", o.shmSize)
	}
	return nil
}

func (o *options) config() supervisor.Config {
	return supervisor.Config{
		Socket: o.socket, Root: o.root, HostRoot: o.hostRoot, Logs: o.logs, DriverRoot: o.driverRoot,
		ShmSize: o.shmSize, Label: o.label, Version: version,
		Enter: []string{"/proc/self/exe", enterCommand},
	}
}
