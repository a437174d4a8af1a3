// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The environment by which a process says which cluster it belongs to and what
// it is there. Children inherit both, so containerd's shims carry containerd's.
const (
	markDir  = "COTENANT_CLUSTER_DIR="
	markPart = "COTENANT_CLUSTER_PART="
)

// Mark returns the two environment entries that make a process the given part
// of the cluster that runs in dir.
func Mark(dir, part string) []string {
	return []string{markDir + dir, markPart + part}
}

// Process is a running process, as /proc showed it.
type Process struct {
	PID    int
	Parent int
	// Start is the start time in clock ticks since boot; with PID it names one
	// process for ever.
	Start uint64
	// Dir and Part are the process's mark, empty if it has none or if its
	// environment may not be read.
	Dir, Part string
}

// Table is a snapshot of all processes, without zombies: those have ended and
// only wait for their parent.
type Table []Process

// Processes reads the process table from proc, usually "/proc".
func Processes(proc string) (Table, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var table Table
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// A process that ends between the listing and here is simply not there.
		if p, ok := readProcess(filepath.Join(proc, e.Name()), pid); ok {
			table = append(table, p)
		}
	}
	return table, nil
}

func readProcess(dir string, pid int) (Process, bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, false
	}
	p, state, err := parseStat(string(stat))
	if err != nil || state == "Z" || state == "X" {
		return Process{}, false
	}
	p.PID = pid
	environ, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return p, true // somebody else's process: unmarked
	}
	p.Dir, p.Part = parseMark(environ)
	return p, true
}

// parseStat reads a line of /proc/PID/stat. The command name in it may contain
// blanks and parentheses, so the fields are counted from the last one.
func parseStat(line string) (Process, string, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return Process{}, "", fmt.Errorf("process state %q: no command name in it", line)
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 20 {
		return Process{}, "", fmt.Errorf("process state %q: %d fields after the name, want at least 20", line, len(fields))
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return Process{}, "", fmt.Errorf("process state: parent: %w", err)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return Process{}, "", fmt.Errorf("process state: start time: %w", err)
	}
	return Process{Parent: parent, Start: start}, fields[0], nil
}

// parseMark finds the mark in a process's environment. The last entry of a name
// counts, as it does for os/exec.
func parseMark(environ []byte) (dir, part string) {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if v, ok := bytes.CutPrefix(entry, []byte(markDir)); ok {
			dir = string(v)
		}
		if v, ok := bytes.CutPrefix(entry, []byte(markPart)); ok {
			part = string(v)
		}
	}
	return dir, part
}

// Of returns the processes of the cluster that runs in dir whose part satisfies
// want; nil wants all.
func (t Table) Of(dir string, want func(part string) bool) Table {
	var found Table
	for _, p := range t {
		if p.Dir == dir && (want == nil || want(p.Part)) {
			found = append(found, p)
		}
	}
	return found
}

// With adds the processes of the given ids that are in all, and everything below
// those and below t: a container's processes carry no mark, but hang below their
// shim.
func (t Table) With(all Table, pids []int) Table {
	in := map[int]bool{}
	for _, p := range t {
		in[p.PID] = true
	}
	for _, pid := range pids {
		in[pid] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.PID] && in[p.Parent] {
				in[p.PID], grown = true, true
			}
		}
	}
	var found Table
	for _, p := range all {
		if in[p.PID] {
			found = append(found, p)
		}
	}
	return found
}

// Without leaves out a process, such as the caller's own.
func (t Table) Without(pid int) Table {
	return slices.DeleteFunc(slices.Clone(t), func(p Process) bool { return p.PID == pid })
}
