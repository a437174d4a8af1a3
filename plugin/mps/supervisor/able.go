// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unable says why this supervisor cannot run daemons, or "". Most of it is put
// right without a restart, so it is asked again and again.
func (s *Supervisor) unable() string {
	if why := s.records.paused(); why != "" {
		return "paused: " + why + "; `cotenant-mps resume` ends it"
	}
	for _, check := range []func() error{s.isRoot, s.seesHost, s.isReachable, s.isShared} {
		if err := check(); err != nil {
			return err.Error()
		}
	}
	if _, err := findProgram(s.cfg.DriverRoot); err != nil {
		return err.Error()
	}
	return ""
}

func (s *Supervisor) isRoot() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("runs as user %d; MPS daemons, and the mounts for them, need root", os.Geteuid())
	}
	return nil
}

// seesHost: in a process namespace of its own, daemons know their clients as
// process 0, and limits have no effect.
func (s *Supervisor) seesHost() error {
	first, err := os.ReadFile("/proc/1/comm")
	if err != nil {
		return fmt.Errorf("look at process 1: %w", err)
	}
	// The pause container is first where the containers of a pod share one.
	if os.Getpid() == 1 || strings.TrimSpace(string(first)) == "pause" {
		return errors.New("does not see the host's processes, without which limits have no effect; set hostPID on its pod")
	}
	return nil
}

// isReachable: servers run as the users of their clients.
func (s *Supervisor) isReachable() error {
	for dir := s.cfg.Root; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("look at --root: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("%s has the mode %#o, and no user but its owner can reach the daemons below it; chmod o+x it, or set another --root", dir, info.Mode().Perm())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// isShared: what is mounted in a mount namespace of its own has to reach the
// host's, or containers would get empty directories in place of the daemons'.
func (s *Supervisor) isShared() error {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return fmt.Errorf("look at the mount namespace: %w", err)
	}
	if host, err := os.Readlink("/proc/1/ns/mnt"); err == nil && host == own {
		return nil
	}
	all, err := mounts()
	if err != nil {
		return err
	}
	if m, ok := holding(all, s.cfg.Root); !ok || !m.shared {
		return fmt.Errorf("mounts below %s would not reach the host; set mountPropagation Bidirectional on the volume of --root", s.cfg.Root)
	}
	return nil
}
