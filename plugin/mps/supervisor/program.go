// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cotenant-dev/cotenant/plugin/mps"
)

const controlName = "nvidia-cuda-mps-control"

// Where a driver root may have its programs and libraries.
var (
	programDirs = []string{"usr/bin", "usr/local/nvidia/bin", "usr/local/bin", "bin", "usr/sbin", "sbin", "opt/bin"}
	libraryDirs = []string{"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/local/nvidia/lib64", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr/lib", "lib"}
	shells      = []string{"bin/sh", "usr/bin/sh"}
)

// program is the control program, and how it is run.
type program struct {
	// root becomes the daemon's root directory, or "" for this process' own. A driver
	// root with a shell is a whole system, of which its programs expect every part.
	root string
	// path is seen from root.
	path string
	// env are the variables by which it finds the driver's other files.
	env []string
}

// findProgram looks for the control program in the driver root. It is looked for
// each time: a driver can be installed, or go, at any time.
func findProgram(driverRoot string) (program, error) {
	path, full, ok := firstIn(driverRoot, programDirs, controlName)
	if !ok {
		return program{}, fmt.Errorf("no %s in %s below the driver root %s; install the driver there, or set --driver-root", controlName, strings.Join(programDirs, ", "), driverRoot)
	}
	own := filepath.Clean(driverRoot) == "/"
	if _, _, shell := firstIn(driverRoot, shells, ""); !shell && !own {
		return program{path: full, env: searched(driverRoot)}, nil
	}
	p := program{path: "/" + path, env: searched("/")[:1]}
	if !own {
		p.root = filepath.Clean(driverRoot)
	}
	return p, nil
}

// firstIn returns the first of the paths below the root that is a program, as seen
// from the root and, with its links followed as from there, in full.
func firstIn(root string, dirs []string, name string) (path, full string, ok bool) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		full, ok := resolve(root, path)
		if !ok {
			continue
		}
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, full, true
		}
	}
	return "", "", false
}

// resolve follows the links of a path as if root were the root directory.
func resolve(root, path string) (string, bool) {
	rest, done := strings.Split(path, "/"), "/"
	for links := 0; len(rest) > 0; {
		next := filepath.Join(done, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			done = next
			continue
		}
		if links++; links > 40 { // as many as the kernel follows
			return "", false
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return filepath.Join(root, done), true
}

// searched are PATH and LD_LIBRARY_PATH below a root.
func searched(root string) []string {
	below := func(dirs []string) string {
		var out []string
		for _, d := range dirs {
			out = append(out, filepath.Join(root, d))
		}
		return strings.Join(out, ":")
	}
	return []string{"PATH=" + below(programDirs), "LD_LIBRARY_PATH=" + below(libraryDirs)}
}

// logsMount is where a daemon has its log directory.
const logsMount = "/tmp/nvidia-mps-log"

// marker names the daemon in the environment of its processes.
const marker = "COTENANT_MPS_DAEMON="

// environment is that of a daemon and of the commands to it. Positions in
// CUDA_VISIBLE_DEVICES are the device numbers of memory limits.
func (p program) environment(own []string, dir string, uuids []string) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(v string) bool {
		return strings.HasPrefix(v, "CUDA_") || strings.HasPrefix(v, "LD_") || strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, marker)
	})
	env = append(env, p.env...)
	return append(env,
		"CUDA_VISIBLE_DEVICES="+strings.Join(uuids, ","),
		"CUDA_MPS_PIPE_DIRECTORY="+mps.PipeMount,
		"CUDA_MPS_LOG_DIRECTORY="+logsMount,
		marker+dir,
	)
}

// daemonArgs are those of a control daemon that stays in the foreground.
func daemonArgs(multiUser bool) []string {
	if multiUser {
		return []string{"-f", "-M"}
	}
	return []string{"-f"}
}

// driverVersion reads the version from the name of the driver's library, or
// returns "".
func driverVersion(driverRoot string) string {
	for _, dir := range libraryDirs {
		full, ok := resolve(driverRoot, dir)
		if !ok {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(full, "libcuda.so.[0-9]*.*"))
		if len(found) > 0 {
			return strings.TrimPrefix(filepath.Base(found[0]), "libcuda.so.")
		}
	}
	return ""
}
