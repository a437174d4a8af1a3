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
	loadNow func() string

	mu  sync.Mutex
	lib nvml.Interface // nil while no session is open
	// load is the id of the driver load that the session was opened under.
	load string
}

// New returns a session that is opened at its first use. loadNow returns the id
// of the present load of the driver; when it changes, the session is opened
// anew. sysRoot is where sysfs is seen.
func New(source Source, sysRoot string, loadNow func() string) *Session {
	return &Session{source: source, sysRoot: sysRoot, loadNow: loadNow}
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
// wraps ErrUnreachable ends the session; the next call opens it anew.
func (s *Session) With(f func(nvml.Interface) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lib != nil && s.loadNow() != s.load {
		s.shut()
	}
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

// fail turns a return code into an error once. Codes that concern the library as
// a whole wrap ErrUnreachable.
func fail(lib nvml.Interface, call string, ret nvml.Return) error {
	switch ret {
	case nvml.SUCCESS:
		return nil
	case nvml.ERROR_UNINITIALIZED, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fmt.Errorf("%w: %s says %s", ErrUnreachable, call, lib.ErrorString(ret))
	}
	return fmt.Errorf("%s says %s", call, lib.ErrorString(ret))
}
