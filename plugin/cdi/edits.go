// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi/transform/root"
	"github.com/sirupsen/logrus"
	cdiapi "tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/sharing"
)

// memoryLimitsHook reads limits from the container's own environment, which its
// author controls: on a shared GPU he could reserve memory against neighbours. It is
// left in only where we write both of its variables.
const memoryLimitsHook = "apply-cuda-memory-limits"

// edits are what containers need, as the container runtime will see it. They are
// good for one load of the driver.
type edits struct {
	load   string
	common specs.ContainerEdits
	gpus   map[string]gpuEdits // by UUID
}

// gpuEdits are those of one GPU. They are good for one minor number, which can
// change when the GPU's MIG mode does.
type gpuEdits struct {
	minor int
	edits specs.ContainerEdits
	// limits is the hook that limits the memory of a container; nil if nvcdi has none.
	limits *specs.Hook
}

// edited returns the edits of the present driver load, with those of the GPUs of
// these devices among them.
func (s *Specs) edited(devices []sharing.SpecDevice) (*edits, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if load := s.cfg.Load(); s.cache == nil || s.cache.load != load {
		s.cache = &edits{load: load, gpus: map[string]gpuEdits{}}
	}
	var missing []string
	for _, d := range devices {
		have, ok := s.cache.gpus[d.UUID]
		if minor, known := s.minor(d.Address); !ok || known && minor != have.minor {
			missing = append(missing, d.UUID)
		}
	}
	if len(missing) == 0 && (len(devices) > 0 || s.cache.common.Env != nil) {
		return s.cache.copy(), nil
	}
	err := s.cfg.NVML(func(lib nvml.Interface) error { return s.generate(lib, s.cache, missing) })
	if err != nil {
		s.cache = nil
		return nil, err
	}
	return s.cache.copy(), nil
}

// copy lets a caller read while another one adds GPUs.
func (e *edits) copy() *edits {
	c := &edits{load: e.load, common: e.common, gpus: make(map[string]gpuEdits, len(e.gpus))}
	for u, g := range e.gpus {
		c.gpus[u] = g
	}
	return c
}

// generate fills the cache by way of nvcdi.
func (s *Specs) generate(lib nvml.Interface, into *edits, uuids []string) error {
	quiet := logrus.New()
	quiet.SetLevel(logrus.ErrorLevel)
	gen, err := nvcdi.New(
		nvcdi.WithLogger(quiet),
		nvcdi.WithMode("nvml"),
		nvcdi.WithNvmlLib(lib),
		nvcdi.WithDriverRoot(s.cfg.DriverRoot),
		nvcdi.WithDevRoot(s.cfg.DevRoot),
		nvcdi.WithNVIDIACDIHookPath(s.cfg.HookPath),
		nvcdi.WithVendor(vendor),
		nvcdi.WithClass(class),
		nvcdi.WithFeatureFlags(nvcdi.FeatureDisableNvsandboxUtils, nvcdi.FeatureDisableIPCDiscoverer),
	)
	if err != nil {
		return fmt.Errorf("prepare CDI generation: %w", err)
	}
	if into.common.Env == nil {
		common, err := gen.GetCommonEdits()
		if err != nil {
			return fmt.Errorf("work out what every GPU container needs from the driver root %s: %w", s.cfg.DriverRoot, err)
		}
		spec := &specs.Spec{ContainerEdits: *common.ContainerEdits}
		if err := s.finish(spec); err != nil {
			return err
		}
		into.common = withoutMPS(spec.ContainerEdits)
		into.common.Env = append(into.common.Env, visibleDevices+"=void")
	}
	for _, uuid := range uuids {
		minor, err := askMinor(lib, uuid)
		if err != nil {
			return err
		}
		devices, err := gen.GetDeviceSpecsByID(uuid)
		if err != nil {
			return fmt.Errorf("work out what a container needs for %s: %w", uuid, err)
		}
		if len(devices) == 0 || len(devices[0].ContainerEdits.DeviceNodes) == 0 {
			return fmt.Errorf("no device node for %s below %s; the driver may not have made them yet", uuid, s.cfg.DevRoot)
		}
		spec := &specs.Spec{ContainerEdits: devices[0].ContainerEdits}
		if err := s.finish(spec); err != nil {
			return err
		}
		without, limits := withoutLimits(spec.ContainerEdits)
		into.gpus[uuid] = gpuEdits{minor: minor, edits: without, limits: limits}
	}
	return nil
}

// finish turns the paths that this process sees into those that the runtime
// sees, and validates the result.
func (s *Specs) finish(spec *specs.Spec) error {
	t := root.NewDriverTransformer(
		root.WithDriverRoot(s.cfg.DriverRoot),
		root.WithTargetDriverRoot(s.cfg.HostDriverRoot),
		root.WithDevRoot(s.cfg.DevRoot),
		root.WithTargetDevRoot(s.hostDevRoot()),
	)
	if err := t.Transform(spec); err != nil {
		return fmt.Errorf("translate paths from %s to %s: %w", s.cfg.DriverRoot, s.cfg.HostDriverRoot, err)
	}
	return (&cdiapi.ContainerEdits{ContainerEdits: &spec.ContainerEdits}).Validate()
}

// hostDevRoot is where the runtime sees what we see at DevRoot: beside the
// driver when it is there, else at the same place.
func (s *Specs) hostDevRoot() string {
	if s.cfg.DevRoot == s.cfg.DriverRoot {
		return s.cfg.HostDriverRoot
	}
	return s.cfg.DevRoot
}

// visibleDevices is the variable through which a container could ask NVIDIA's
// runtime for GPUs behind Kubernetes' back.
const visibleDevices = "NVIDIA_VISIBLE_DEVICES"

// withoutMPS drops the MPS programs and our own variable. A container that could
// run a control daemon of its own would not be held to the one of its slot.
func withoutMPS(e specs.ContainerEdits) specs.ContainerEdits {
	out := e
	out.Mounts, out.Env = nil, nil
	for _, m := range e.Mounts {
		if !strings.HasPrefix(path.Base(m.ContainerPath), "nvidia-cuda-mps-") {
			out.Mounts = append(out.Mounts, m)
		}
	}
	for _, v := range e.Env {
		if !strings.HasPrefix(v, visibleDevices+"=") {
			out.Env = append(out.Env, v)
		}
	}
	return out
}

// withoutLimits returns the edits without the hook that limits memory, and the hook.
func withoutLimits(e specs.ContainerEdits) (specs.ContainerEdits, *specs.Hook) {
	var limits *specs.Hook
	out := e
	out.Hooks = nil
	for _, h := range e.Hooks {
		if slices.Contains(h.Args, memoryLimitsHook) {
			limits = h
		} else {
			out.Hooks = append(out.Hooks, h)
		}
	}
	return out, limits
}
