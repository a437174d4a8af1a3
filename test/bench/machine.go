// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
)

// machine is where and when the figures were made.
type machine struct {
	cpus          int
	kernel        string
	fileSystem    string // of the journal
	before, after string // load averages over 1, 5 and 15 minutes
	kubernetes    string
	took          time.Duration
}

// lookAtMachine describes the machine; dir is where the plugins' files are.
func lookAtMachine(dir string) (*machine, error) {
	m := &machine{cpus: runtime.NumCPU()}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	m.kernel = strings.TrimSpace(string(kernel))
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	m.fileSystem = fileSystemOf(dir, string(mounts))
	m.before, err = load()
	return m, err
}

// finish adds what is known at the end. It takes the interface that it needs of
// a Kubernetes client.
func (m *machine) finish(client interface {
	Discovery() discovery.DiscoveryInterfaces
}, took time.Duration) error {
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	m.kubernetes, m.took = version.GitVersion, took
	m.after, err = load()
	return err
}

// load is the load average over 1, 5 and 15 minutes.
func load() (string, error) {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(raw))
	return strings.Join(words[:min(3, len(words))], " "), nil
}

// fileSystemOf returns the type of the file system that the absolute path is on,
// by the text of a mountinfo file (proc_pid_mountinfo(5)): the fifth word is the
// mount point, the one after "-" the type. Of mounts at the same point the last
// is on top.
func fileSystemOf(path, mountinfo string) string {
	kind, longest := "unknown", -1
	for line := range strings.Lines(mountinfo) {
		words := strings.Fields(line)
		_, after, ok := strings.Cut(line, " - ")
		if !ok || len(words) < 5 {
			continue
		}
		point := strings.TrimSuffix(words[4], "/")
		if (path == point || strings.HasPrefix(path, point+"/")) && len(point) >= longest {
			kind, _, _ = strings.Cut(after, " ")
			longest = len(point)
		}
	}
	return kind
}
