// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
)

func TestFileSystemOf(t *testing.T) {
	const mounts = `22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:30 / /tmp rw - overlay overlay rw
31 22 0:31 / /tmp rw master:1 - tmpfs tmpfs rw
32 22 0:32 / /tmpfiles rw - xfs /dev/vdb rw
`
	for path, want := range map[string]string{"/tmp": "tmpfs", "/tmp/bench1": "tmpfs", "/tmpfiles/x": "xfs", "/tmpx": "ext4", "/": "ext4"} {
		if got := fileSystemOf(path, mounts); got != want {
			t.Errorf("%s is on %s, want %s", path, got, want)
		}
	}
	if got := fileSystemOf("/x", ""); got != "unknown" {
		t.Errorf("without mounts: %s", got)
	}
}
