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
	binSMI        = "nvidia-smi"
	binLib        = "libnvidia-ml.so.1"
	binMPSControl = "nvidia-cuda-mps-control"
	binMPSServer  = "nvidia-cuda-mps-server"
	binCUDA       = "simcuda"
)

// programs go to usr/bin of the driver root. simcuda is no part of a driver: it
// lies there so that it is where the driver is, and no CDI spec names it.
func programs() []string { return []string{binSMI, binMPSControl, binMPSServer, binCUDA} }

// installBin copies the stand-in programs that are in from to dir and returns
// their names. The machine keeps copies, so that it does not change when they
// are built again; the library's copy has the functions of the driver's version.
func installBin(from, dir, driver string) ([]string, error) {
	if from == "" {
		return nil, nil
	}
	var names []string
	for _, name := range append(programs(), binLib) {
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
		return nil, fmt.Errorf("there is none of %q and %s in %s: build them there first", programs(), binLib, from)
	}
	return names, nil
}
