// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

// ErrUnreachable is in every error that means: the driver itself does not answer.
var ErrUnreachable = errors.New("the NVIDIA driver cannot be reached")

// Source finds the library. It is asked each time a session begins, since the
// driver may be installed after the plugin has started.
type Source func() (nvml.Interface, error)

// Session is one long-lived use of the library. Make it with New.
type Session struct {
	source  Source
	sysRoot string
	cgroup  func() string
	loadNow func() string

	mu  sync.Mutex
	lib nvml.Interface // nil while no session is open
	// load is the id of the driver load that the session was opened under.
	load string
	// What was learnt in this session. Handles are those of the last look, by PCI
	// address; the others are by UUID. Only the UUID of a GPU whose mode turned out
	// to need a reset outlives the session.
	handles       map[string]nvml.Device
	partitionings map[string]*partitioning
	limitable     map[string]bool
	needsReset    map[string]bool
}

// New returns a session that is opened at its first use. loadNow returns the id
// of the present load of the driver; when it changes, the session is opened
// anew. sysRoot is where sysfs is seen; cgroup returns the cgroup that those of
// containers are in.
func New(source Source, sysRoot string, cgroup, loadNow func() string) *Session {
	return &Session{source: source, sysRoot: sysRoot, cgroup: cgroup, loadNow: loadNow, needsReset: map[string]bool{}}
}

// libraries is where drivers put the library, below their root.
var libraries = [...]string{
	"usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
	"lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
}

// FromRoot returns the source that takes the library from a driver root.
func FromRoot(driverRoot string) Source {
	return func() (nvml.Interface, error) {
		for _, dir := range libraries {
			path := filepath.Join(driverRoot, dir, "libnvidia-ml.so.1")
			if _, err := os.Stat(path); err == nil {
				return nvml.New(nvml.WithLibraryPath(path)), nil
			}
		}
		return nil, fmt.Errorf("%w: there is no libnvidia-ml.so.1 below %s; check --nvidia-driver-root, and that the driver is installed", ErrUnreachable, driverRoot)
	}
}

// With runs f with the session open and alone in the library. An error that
// wraps ErrUnreachable ends the session; the next call opens it anew. A session
// that was open already may have gone stale with a reload of the driver: f, which
// had no effect then, is run once more in a new one.
func (s *Session) With(f func(nvml.Interface) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lib != nil && s.loadNow() != s.load {
		s.shut()
	}
	old := s.lib != nil
	err := s.once(f)
	if old && errors.Is(err, ErrUnreachable) {
		err = s.once(f)
	}
	return err
}

func (s *Session) once(f func(nvml.Interface) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	err := f(s.lib)
	if errors.Is(err, ErrUnreachable) {
		s.shut()
	}
	return err
}

func (s *Session) begin() error {
	if s.lib != nil {
		return nil
	}
	load := s.loadNow()
	lib, err := s.source()
	if err != nil {
		return err
	}
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return fmt.Errorf("%w: nvmlInit says %s", ErrUnreachable, lib.ErrorString(ret))
	}
	s.lib, s.load = lib, load
	s.handles, s.partitionings, s.limitable = map[string]nvml.Device{}, map[string]*partitioning{}, map[string]bool{}
	return nil
}

func (s *Session) shut() {
	_ = s.lib.Shutdown() // it may be gone already
	s.lib = nil
}

// Close lets go of the driver.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lib != nil {
		s.shut()
	}
}

// device returns the handle of the GPU at a PCI address.
func (s *Session) device(lib nvml.Interface, address string) (nvml.Device, error) {
	if dev, ok := s.handles[address]; ok {
		return dev, nil
	}
	dev, ret := lib.DeviceGetHandleByPciBusId(address)
	return dev, fail(lib, "nvmlDeviceGetHandleByPciBusId("+address+")", ret)
}

// partitioned runs f with a GPU that can be partitioned.
func (s *Session) partitioned(address string, f func(nvml.Interface, nvml.Device, *partitioning) error) error {
	return s.With(func(lib nvml.Interface) error {
		dev, err := s.device(lib, address)
		if err != nil {
			return err
		}
		g := sharing.GPU{Address: address}
		for _, q := range [...]question{uuid, memory} {
			if err := q(lib, dev, &g); err != nil {
				return err
			}
		}
		p, err := s.partitioning(lib, dev, &g)
		if err != nil {
			return err
		}
		if p == nil {
			return api.Errorf(api.Invalid, "the GPU at %s cannot be partitioned", address)
		}
		return f(lib, dev, p)
	})
}

// fail turns a return code into an error once. Codes that concern the library as
// a whole wrap ErrUnreachable.
func fail(lib nvml.Interface, call string, ret nvml.Return) error {
	switch ret {
	case nvml.SUCCESS:
		return nil
	case nvml.ERROR_IN_USE:
		return api.Errorf(api.InUse, "%s says %s", call, lib.ErrorString(ret))
	case nvml.ERROR_NOT_SUPPORTED:
		return api.Errorf(api.Unsupported, "%s says %s", call, lib.ErrorString(ret))
	case nvml.ERROR_UNINITIALIZED, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fmt.Errorf("%w: %s says %s", ErrUnreachable, call, lib.ErrorString(ret))
	}
	return fmt.Errorf("%s says %s", call, lib.ErrorString(ret))
}
