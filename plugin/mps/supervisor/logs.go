// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	// maxLog is how large a log may get before it is cut, keptLog how much of its end
	// is kept beside it. Both in bytes.
	maxLog  = 1 << 20
	keptLog = 256 << 10
)

// trim cuts the logs of the daemon that have got long. It keeps no log open, so
// that a file is cut where it is.
func (p place) trim() {
	names, err := filepath.Glob(filepath.Join(p.logs, "*.log"))
	if err != nil {
		return
	}
	for _, name := range names {
		// A log that cannot be cut now is looked at again soon.
		_ = trimFile(name)
	}
}

func trimFile(name string) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	// What counts is the room that it takes: of a daemon that does not append, a file
	// that was cut begins with a hole. st_blocks are of 512 bytes, see stat(2).
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Blocks*512 <= maxLog {
		return nil
	}
	if _, err := f.Seek(max(0, st.Size-keptLog), io.SeekStart); err != nil {
		return err
	}
	tail, err := io.ReadAll(io.LimitReader(f, keptLog))
	if err != nil {
		return err
	}
	if err := replace(name+".old", tail); err != nil {
		return err
	}
	return f.Truncate(0)
}
