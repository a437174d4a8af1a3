// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Replace puts the file at temp in the place of the one at at, which need not be
// there: who looks sees the one or the other.
//
// It exchanges the two and removes the old one. A rename alone would do, but ext4
// writes a file to the disk before it lets a rename replace another with it
// (mount option auto_da_alloc, ext4(5)), which takes longer than all else here
// and guards against a power cut, which no machine here survives.
func Replace(temp, at string) error {
	err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, at, unix.RENAME_EXCHANGE)
	if err != nil {
		// Nothing to exchange it with, or a file system that cannot.
		return os.Rename(temp, at)
	}
	if err := os.Remove(temp); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
