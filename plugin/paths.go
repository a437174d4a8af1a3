// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// Paths are all the places of the file system that the plugin looks at or
// writes to. Nothing else is hard-coded anywhere.
type Paths struct {
	// DriverRoot is where the driver's installation is seen by this process,
	// HostDriverRoot where the container runtime sees it.
	DriverRoot     string
	HostDriverRoot string
	// DevRoot is the directory whose "dev" holds the GPUs' device nodes.
	DevRoot string
	// ProcRoot and SysRoot are procfs and sysfs.
	ProcRoot string
	SysRoot  string
	// CDIRoot is where CDI specs are written.
	CDIRoot string
	// Plugins is the kubelet's directory of plugin data, Registry the one it
	// watches for sockets.
	Plugins  string
	Registry string
	// MPSSocket is where the supervisor of MPS control daemons listens, MPSRoot where
	// the container runtime finds the daemons' directories.
	MPSSocket string
	MPSRoot   string
}

// Data is the plugin's own directory below Plugins.
func (p Paths) Data() string { return filepath.Join(p.Plugins, api.DriverName) }

// Socket is where the kubelet calls the plugin.
func (p Paths) Socket() string { return filepath.Join(p.Data(), "dra.sock") }

// RegistrySocket is where the kubelet finds the plugin.
func (p Paths) RegistrySocket() string {
	return filepath.Join(p.Registry, api.DriverName+"-reg.sock")
}

// Journal is the journal's file.
func (p Paths) Journal() string { return filepath.Join(p.Data(), "journal.db") }

// UpstreamCheckpoint is where the upstream driver keeps its claims.
func (p Paths) UpstreamCheckpoint() string { return filepath.Join(p.Data(), "checkpoint.json") }

// Era reads the ids of the boot and of the driver's load. A boot id that cannot
// be read is an error: it must never pass for an unchanged one. A driver that is
// not loaded has the load id "".
func (p Paths) Era() (sharing.Era, error) {
	file := filepath.Join(p.ProcRoot, "sys/kernel/random/boot_id")
	raw, err := os.ReadFile(file)
	if err != nil {
		return sharing.Era{}, fmt.Errorf("read the boot id: %w; check --proc-root", err)
	}
	boot := strings.TrimSpace(string(raw))
	if boot == "" {
		return sharing.Era{}, fmt.Errorf("read the boot id: %s is empty; check --proc-root", file)
	}
	return sharing.Era{Boot: boot, Load: p.Load()}, nil
}

// Load is the id of the present load of the driver, or "": the inode of its
// directory in sysfs, of which the kernel makes a new one at each load.
func (p Paths) Load() string {
	info, err := os.Stat(filepath.Join(p.SysRoot, "module/nvidia"))
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(st.Ino, 10)
}

// ContainersCgroup is the cgroup that the kubelet has those of all pods in, of either
// cgroup driver, or the topmost one where there is none. That one differs: it lists
// controllers that pods need not have, and no device memory is limited in it (Linux,
// admin-guide/cgroup-v2.rst, DMEM).
func (p Paths) ContainersCgroup() string {
	top := filepath.Join(p.SysRoot, "fs/cgroup")
	for _, name := range [...]string{"kubepods.slice", "kubepods"} {
		dir := filepath.Join(top, name)
		if _, err := os.Stat(filepath.Join(dir, controllersFile)); err == nil {
			return dir
		}
	}
	return top
}

// Make makes the directories that the plugin writes to, and says which one
// cannot be used.
func (p Paths) Make() error {
	for _, d := range []struct{ flag, dir string }{
		{"--kubelet-plugins-directory-path", p.Data()},
		{"--cdi-root", p.CDIRoot},
	} {
		if err := os.MkdirAll(d.dir, 0o755); err != nil {
			return fmt.Errorf("cannot make the directory %s: %w; check %s", d.dir, reason(err), d.flag)
		}
	}
	if info, err := os.Stat(p.Registry); err != nil || !info.IsDir() {
		if err == nil {
			err = errors.New("not a directory")
		}
		return fmt.Errorf("the kubelet's registry %s cannot be used: %w; check --kubelet-registrar-directory-path", p.Registry, reason(err))
	}
	return p.writable()
}

// writable tries what a directory's mode does not tell: a read-only mount.
func (p Paths) writable() error {
	for _, d := range []struct{ flag, dir string }{
		{"--kubelet-plugins-directory-path", p.Data()},
		{"--kubelet-registrar-directory-path", p.Registry},
	} {
		f, err := os.CreateTemp(d.dir, ".cotenant-probe-")
		if err != nil {
			return fmt.Errorf("cannot write to %s: %w; check %s", d.dir, reason(err), d.flag)
		}
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return fmt.Errorf("cannot write to %s: %w; check %s", d.dir, reason(err), d.flag)
		}
	}
	return nil
}

// reason strips the path that the caller's sentence names already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
