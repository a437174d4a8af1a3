// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes says what of the simulated machine a container was given: the
// device nodes that it may open. The stand-in programs see no more than that, as
// the real ones do not.
//
// Only the programs under test/sim/cmd and tests import it.
package nodes

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/cotenant-dev/cotenant/test/sim"
)

// Dev is a container's directory of device nodes, /dev.
type Dev string

// Control reports whether the driver can be spoken to at all.
func (d Dev) Control() bool { return d.opens("nvidiactl", os.O_RDWR) }

// GPU reports whether the node of a GPU may be opened.
func (d Dev) GPU(g sim.GPU) bool { return d.opens("nvidia"+strconv.Itoa(g.Minor), os.O_RDWR) }

// MIG reports whether the nodes of a GPU instance and its compute instance may be
// opened. The GPU's own must be, besides.
func (d Dev) MIG(g sim.GPU, gi sim.GPUInstance, ci sim.ComputeInstance) bool {
	return d.Capability(sim.CapabilityGI(g.Minor, gi.ID)) && d.Capability(sim.CapabilityCI(g.Minor, gi.ID, ci.ID))
}

// Capability reports whether the node of a capability may be opened.
func (d Dev) Capability(minor int) bool {
	return d.opens("nvidia-caps/nvidia-cap"+strconv.Itoa(minor), os.O_RDONLY)
}

// opens reports whether the container has the node and its cgroup lets it be
// opened. No driver stands behind it, so a granted open ends in ENXIO.
func (d Dev) opens(node string, how int) bool {
	f, err := os.OpenFile(filepath.Join(string(d), node), how, 0)
	if err == nil {
		return f.Close() == nil
	}
	return errors.Is(err, unix.ENXIO)
}
