// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// maxSocketPath is how long the path of a Unix socket can be on Linux: 108
// bytes with the closing zero (unix(7)).
const maxSocketPath = 107

// dialTimeout bounds the look at a socket that may have a listener.
const dialTimeout = time.Second

// claimSocket makes way for our own socket at path. The helper library would
// remove whatever stands there, a live socket and a regular file included, so
// this looks first: a dead socket goes, everything else is an error.
func claimSocket(path, flag string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("the socket path %s has %d characters, the limit is %d; set %s to a shorter directory", path, len(path), maxSocketPath, flag)
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket %s: %w", path, reason(err))
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is in the way: it is not a socket (%s); move it away or set %s", path, info.Mode().Type(), flag)
	}
	conn, err := net.DialTimeout("unix", path, dialTimeout)
	if err == nil {
		conn.Close()
		return fmt.Errorf("another plugin is listening on %s; one node runs one plugin of this driver", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the dead socket %s: %w", path, reason(err))
	}
	return nil
}
