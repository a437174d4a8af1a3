// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mount is one line of mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	point  string
	shared bool
	fstype string
	source string
}

// mounts returns those of the calling thread's namespace, in the order in which
// they were made.
func mounts() ([]mount, error) {
	raw, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the mounts: %w", err)
	}
	var out []mount
	for line := range strings.Lines(string(raw)) {
		if m, ok := parseMount(line); ok {
			out = append(out, m)
		}
	}
	return out, nil
}

func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	head, tail := strings.Fields(before), strings.Fields(after)
	if !ok || len(head) < 6 || len(tail) < 2 {
		return mount{}, false
	}
	m := mount{point: unescape(head[4]), fstype: tail[0], source: unescape(tail[1])}
	for _, field := range head[6:] {
		m.shared = m.shared || strings.HasPrefix(field, "shared:")
	}
	return m, true
}

// unescape undoes what the kernel writes for a blank, a tab, a newline and a
// backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// within says whether a path is the directory or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// holding returns the mount on which a path is.
func holding(all []mount, path string) (mount, bool) {
	best, found := mount{}, false
	for _, m := range all {
		// Of two mounts on one point the later one is seen.
		if within(path, m.point) && len(m.point) >= len(best.point) {
			best, found = m, true
		}
	}
	return best, found
}
