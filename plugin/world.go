// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"sync/atomic"

	"github.com/cotenant-dev/cotenant/sharing"
)

// world is what the node last saw of its GPUs, for whoever asks without waiting
// for hardware.
type world struct {
	devices atomic.Pointer[map[string]sharing.Device]
}

func (w *world) set(devices []sharing.Device) {
	m := make(map[string]sharing.Device, len(devices))
	for _, d := range devices {
		m[d.Name] = d
	}
	w.devices.Store(&m)
}

// byName returns the devices by published name. The map is not to be changed.
func (w *world) byName() map[string]sharing.Device {
	if m := w.devices.Load(); m != nil {
		return *m
	}
	return nil
}
