// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The stand-in programs a machine can hold, by file name.
const (
	binSMI = "nvidia-smi"
	binLib = "libnvidia-ml.so.1"
)

// installBin copies the stand-in programs that are in from to dir and returns
// their names. The machine keeps copies, so that it does not change when they
// are built again; the library's copy has the functions of the driver's version.
func installBin(from, dir, driver string) ([]string, error) {
	if from == "" {
		return nil, nil
	}
	var names []string
	for _, name := range []string{binSMI, binLib} {
		b, err := readBin(filepath.Join(from, name), name, driver)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o755); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is neither %s nor %s in %s: build them there first", binSMI, binLib, from)
	}
	return names, nil
}
