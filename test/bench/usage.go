// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what a process has used of the machine.
type usage struct {
	cpu     time.Duration
	written int64 // bytes handed to write calls (wchar of proc_pid_io(5))
	dirtied int64 // bytes that have to go to storage (write_bytes of proc_pid_io(5))
}

func (u usage) sub(v usage) usage {
	return usage{cpu: u.cpu - v.cpu, written: u.written - v.written, dirtied: u.dirtied - v.dirtied}
}

func (u *usage) add(v usage) {
	u.cpu, u.written, u.dirtied = u.cpu+v.cpu, u.written+v.written, u.dirtied+v.dirtied
}

// usageOf reads what the process has used since it began.
func usageOf(pid int) (usage, error) {
	cpu, err := cpuOf(pid)
	if err != nil {
		return usage{}, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	io, err := procFile(pid, "io")
	if err != nil {
		return usage{}, err
	}
	u := usage{cpu: cpu}
	if u.written, err = field(io, "wchar"); err != nil {
		return usage{}, err
	}
	u.dirtied, err = field(io, "write_bytes")
	return u, err
}

// cpuOf reads the process's CPU clock, to the nanosecond; /proc counts in
// hundredths of a second. The clock's number is what clock_getcpuclockid(3)
// makes of a process id.
func cpuOf(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED of the kernel's posix-timers_types.h
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// memory is what a process has in memory, in bytes.
type memory struct {
	resident  int64 // VmRSS of proc_pid_status(5), which counts pages of files too
	anonymous int64 // RssAnon: what no other process can share
}

// memoryOf reads the memory that the process has now.
func memoryOf(pid int) (memory, error) {
	status, err := procFile(pid, "status")
	if err != nil {
		return memory{}, err
	}
	resident, err := field(status, "VmRSS")
	if err != nil {
		return memory{}, err
	}
	anonymous, err := field(status, "RssAnon")
	return memory{resident: resident * 1024, anonymous: anonymous * 1024}, err
}

// most returns the greater of each.
func (m memory) most(n memory) memory {
	return memory{resident: max(m.resident, n.resident), anonymous: max(m.anonymous, n.anonymous)}
}

func procFile(pid int, name string) (string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return string(raw), err
}

// field returns the number of a line "key: number" or "key: number unit".
func field(text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, key+":")
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		if len(words) == 0 {
			return 0, fmt.Errorf("%s has no value", key)
		}
		return strconv.ParseInt(words[0], 10, 64)
	}
	return 0, fmt.Errorf("no %s in:\n%s", key, text)
}
