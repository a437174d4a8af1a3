// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// NodeRoot is the file system a node sees. It is the machine's, except that
//   - /etc and /var are overlays whose writable layer is the node's disk,
//   - /var/lib/kubelet and /var/lib/containerd are directories of that disk (an
//     overlay cannot carry containerd's own overlays),
//   - /run and /dev/shm are empty tmpfs, gone when the node reboots,
//   - the boot id, and the kernel settings a kubelet writes, are the node's own
//     files: a test node must not change the machine's,
//   - its control groups are those below the one the process was put into, which
//     must also be the root of its control group namespace,
//   - with a simulated GPU machine, its state is at /run/cotenant-sim and its
//     driver root at /run/nvidia/driver.
type NodeRoot struct {
	Disk string // directory that outlives reboots
	Sim  string // state directory of the simulated GPU machine; empty without
}

// Where a simulated GPU machine appears on a node.
const (
	SimPoint    = "/run/cotenant-sim"
	DriverPoint = "/run/nvidia/driver"
)

// Mount makes the calling process's mount namespace, which must be its own, the
// node's. When it returns, mounts made inside propagate among the node's
// processes, and none reaches the machine.
func (n NodeRoot) Mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("detach from the machine's mounts: %w", err)
	}
	sources, err := n.openSources()
	if err != nil {
		return err
	}
	defer sources.close()
	for _, step := range []func(openDirs) error{n.overlays, n.disks, n.memory, n.kernel, n.cgroups, n.sim} {
		if err := step(sources); err != nil {
			return err
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts within the node: %w", err)
	}
	return nil
}

// openDirs are directories opened before anything is mounted over them: the
// cluster's own files may lie below /var or /run.
type openDirs map[string]*os.File

func (n NodeRoot) openSources() (openDirs, error) {
	paths := []string{"kubelet", "containerd", "etc", "etc.work", "var", "var.work"}
	open := openDirs{}
	for _, p := range paths {
		dir := filepath.Join(n.Disk, p)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("node's disk: %w", err)
		}
		if err := open.add(p, dir); err != nil {
			return nil, err
		}
	}
	if n.Sim == "" {
		return open, nil
	}
	if err := open.add("sim", n.Sim); err != nil {
		return nil, err
	}
	if err := open.add("driver", filepath.Join(n.Sim, "root")); err != nil {
		return nil, fmt.Errorf("%w; is %s the state directory of a simulated GPU machine?", err, n.Sim)
	}
	return open, nil
}

func (s openDirs) add(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	s[name] = f
	return nil
}

// path names the directory however it is covered by now.
func (s openDirs) path(name string) string {
	return "/proc/self/fd/" + strconv.Itoa(int(s[name].Fd()))
}

func (s openDirs) close() {
	for _, f := range s {
		f.Close()
	}
}

func (n NodeRoot) overlays(openDirs) error {
	// Mount options have no way to quote these.
	if strings.ContainsAny(n.Disk, `,:\`) {
		return fmt.Errorf("node's disk %q: a comma, colon or backslash in the path; choose another --out", n.Disk)
	}
	for _, dir := range []string{"etc", "var"} {
		upper := filepath.Join(n.Disk, dir)
		data := fmt.Sprintf("lowerdir=/%s,upperdir=%s,workdir=%s.work", dir, upper, upper)
		err := unix.Mount("overlay", "/"+dir, "overlay", 0, data)
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EINVAL) {
			err = fmt.Errorf("%w; the output directory must not lie below /%s nor itself on an overlay: choose another --out", err, dir)
		}
		if err != nil {
			return fmt.Errorf("overlay %s on /%s: %w", upper, dir, err)
		}
	}
	return nil
}

func (n NodeRoot) disks(s openDirs) error {
	for _, dir := range []string{"kubelet", "containerd"} {
		if err := bind(s.path(dir), filepath.Join("/var/lib", dir), unix.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

func (n NodeRoot) memory(openDirs) error {
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("mount the node's /run: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
		return fmt.Errorf("mount the node's /dev/shm: %w", err)
	}
	// Where /var/run is a directory, as on old systems, it must still be /run.
	if target, err := filepath.EvalSymlinks("/var/run"); err != nil || target != "/run" {
		return bind("/run", "/var/run", unix.MS_BIND)
	}
	return nil
}

func (n NodeRoot) sim(s openDirs) error {
	if n.Sim == "" {
		return nil
	}
	if err := bind(s.path("sim"), SimPoint, unix.MS_BIND); err != nil {
		return err
	}
	if err := bind(s.path("driver"), DriverPoint, unix.MS_BIND|unix.MS_REC); err != nil {
		return err
	}
	// A bind inherits nodev, nosuid and noexec, as a directory for temporary
	// files may have them. The driver root has device nodes and programs.
	for _, point := range []string{SimPoint, DriverPoint} {
		if err := unix.Mount("", point, "", unix.MS_BIND|unix.MS_REMOUNT, ""); err != nil {
			return fmt.Errorf("allow device nodes on %s: %w", point, err)
		}
	}
	return nil
}

func bind(source, point string, flags uintptr) error {
	if err := os.MkdirAll(point, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, point, "", flags, ""); err != nil {
		return fmt.Errorf("bind on %s: %w", point, err)
	}
	return nil
}
