// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/api"
)

// SwitchMIG makes the MIG mode of a GPU what is asked. A GPU with instances is
// not switched off: api.Held.
func (s *Session) SwitchMIG(_ context.Context, address string, on bool) error {
	return s.partitioned(address, func(lib nvml.Interface, dev nvml.Device, p *partitioning) error {
		current, pending, ret := dev.GetMigMode()
		if err := fail(lib, "nvmlDeviceGetMigMode", ret); err != nil {
			return err
		}
		want := mode(on)
		if current == want && pending == want {
			return nil
		}
		if !on && current == nvml.DEVICE_MIG_ENABLE {
			live, err := p.instances(lib, dev)
			if err == nil && len(live) > 0 {
				err = api.Errorf(api.Held, "the GPU at %s has %d MIG instances and cannot be used whole; see nvidia-smi mig -lgi", address, len(live))
			}
			if err != nil {
				return err
			}
		}
		// No registration for events of ours is in the way: there is none.
		// Two results: what became of the call, and what of the activation
		// (nvml.h, nvmlDeviceSetMigMode). Neither alone says that the mode is on, so it
		// is read back.
		activation, ret := dev.SetMigMode(want)
		if err := fail(lib, "nvmlDeviceSetMigMode", ret); err != nil {
			return err
		}
		now, waiting, ret := dev.GetMigMode()
		if err := fail(lib, "nvmlDeviceGetMigMode", ret); err != nil {
			return err
		}
		if now == want && waiting == want {
			return nil
		}
		if waiting != now {
			// Left pending, the mode would change at the next reset, when nobody
			// expects it.
			if _, ret := dev.SetMigMode(now); ret != nvml.SUCCESS {
				return fail(lib, "nvmlDeviceSetMigMode, to take back a change that waits for a reset,", ret)
			}
		}
		return s.notSwitched(lib, dev, activation, address, on)
	})
}

// notSwitched says why the mode is not what was asked, though the call succeeded.
func (s *Session) notSwitched(lib nvml.Interface, dev nvml.Device, activation nvml.Return, address string, on bool) error {
	word := map[bool]string{true: "on", false: "off"}[on]
	switch activation {
	case nvml.ERROR_IN_USE:
		return api.Errorf(api.InUse, "MIG mode of the GPU at %s cannot be switched %s: %s", address, word, lib.ErrorString(activation))
	case nvml.ERROR_RESET_REQUIRED, nvml.SUCCESS:
		// It is remembered, so that no more is published than the present mode allows.
		if uuid, ret := dev.GetUUID(); ret == nvml.SUCCESS {
			s.needsReset[uuid] = true
			delete(s.partitionings, uuid)
		}
		return api.Errorf(api.NeedsReset, "MIG mode of the GPU at %s can be switched %s only by a reset of the GPU: nvidia-smi -mig %d, then nvidia-smi -r or a reboot", address, word, mode(on))
	}
	return fail(lib, "nvmlDeviceSetMigMode, activating the mode,", activation)
}

func mode(on bool) int {
	if on {
		return nvml.DEVICE_MIG_ENABLE
	}
	return nvml.DEVICE_MIG_DISABLE
}
