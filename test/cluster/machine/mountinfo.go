// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is one line of a mountinfo file (proc_pid_mountinfo(5)).
type Mount struct {
	Point   string
	Type    string
	Options []string // of the mount itself: rw, nodev, …
	Super   []string // of the file system
}

// ReadMounts returns the mounts of the caller's mount namespace, oldest first.
func ReadMounts() ([]Mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMountinfo(f)
}

func parseMountinfo(r io.Reader) ([]Mount, error) {
	var mounts []Mount
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		// The number of optional fields varies; a lone hyphen ends them.
		left, right, ok := strings.Cut(lines.Text(), " - ")
		head, tail := strings.Fields(left), strings.Fields(right)
		if !ok || len(head) < 6 || len(tail) < 3 {
			return nil, fmt.Errorf("mountinfo line %q is not as proc_pid_mountinfo(5) says", lines.Text())
		}
		mounts = append(mounts, Mount{
			Point:   unescape(head[4]),
			Type:    tail[0],
			Options: strings.Split(head[5], ","),
			Super:   strings.Split(tail[2], ","),
		})
	}
	return mounts, lines.Err()
}

// unescape undoes the kernel's octal escapes of blank, tab, newline and backslash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Below returns the mount points at or below dir, newest first: the order in
// which they can be unmounted.
func Below(mounts []Mount, dir string) []string {
	var points []string
	for i := len(mounts) - 1; i >= 0; i-- {
		if p := mounts[i].Point; p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") {
			points = append(points, p)
		}
	}
	return points
}

// UnmountBelow unmounts everything at or below dir in the caller's namespace.
func UnmountBelow(dir string) error {
	mounts, err := ReadMounts()
	if err != nil {
		return err
	}
	for _, point := range Below(mounts, dir) {
		if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s: %w; see who uses it with `fuser -vm %s`", point, err, point)
		}
	}
	return nil
}
