// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"tags.cncf.io/container-device-interface/pkg/parser"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/sharing"
)

const (
	vendor = api.CDIVendor
	class  = api.CDIClass
)

// Config says where things are.
type Config struct {
	// Dir is where the spec files go.
	Dir string
	// DriverRoot and DevRoot are where this process sees the driver's files and
	// the directory above "dev"; HostDriverRoot is where the runtime does.
	DriverRoot, HostDriverRoot, DevRoot string
	// ProcRoot is procfs: the driver tells there who may use a MIG instance.
	ProcRoot string
	// MPSRoot is where the runtime finds the directories of MPS control daemons.
	MPSRoot string
	// HookPath is where the runtime finds nvidia-cdi-hook.
	HookPath string
	// NVML runs a function with the library open and alone in it.
	NVML func(func(nvml.Interface) error) error
	// Load returns the id of the present load of the driver.
	Load func() string
}

// Specs are the spec files in one directory.
type Specs struct {
	cfg   Config
	mu    sync.Mutex
	cache *edits
}

// New returns the specs of the directory. It touches nothing.
func New(cfg Config) *Specs { return &Specs{cfg: cfg} }

// A file is <vendor>-<class>_<claim UID>.yaml, as the upstream driver names it.
const (
	prefix = vendor + "-" + class + "_"
	suffix = ".yaml"
)

func (s *Specs) path(claim string) string {
	return filepath.Join(s.cfg.Dir, prefix+claim+suffix)
}

// List returns the UIDs of the claims that have a spec file. A directory that
// does not exist has none.
func (s *Specs) List() ([]string, error) {
	entries, err := os.ReadDir(s.cfg.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the CDI specs: %w", err)
	}
	var uids []string
	for _, e := range entries {
		uid, isOurs := strings.CutPrefix(e.Name(), prefix)
		if uid, isSpec := strings.CutSuffix(uid, suffix); isOurs && isSpec {
			uids = append(uids, uid)
		}
	}
	return uids, nil
}

// Write makes the claim's file what the step says. A file that is that already
// is not written again.
func (s *Specs) Write(_ context.Context, step sharing.WriteSpec, facts sharing.Facts) error {
	want, err := s.render(step, facts)
	if err != nil {
		return err
	}
	path := s.path(step.Claim)
	have, err := os.ReadFile(path)
	if err == nil && bytes.Equal(have, want) {
		return nil
	}
	if err := s.replace(path, want); err != nil {
		return fmt.Errorf("write the CDI spec %s: %w; check that --cdi-root is writable and not full", path, cause(err))
	}
	return nil
}

// replace puts the content at path in one step. The temporary file's name does
// not end like a spec, so the runtime does not read it.
func (s *Specs) replace(path string, content []byte) error {
	if err := os.MkdirAll(s.cfg.Dir, 0o755); err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, content, 0o644); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		_ = os.Remove(tmp)
		return err
	}
	return nil
}

// Remove makes sure that the claim has no file. It looks first: on a read-only
// directory a missing file cannot be removed, and need not be.
func (s *Specs) Remove(claim string) error {
	for _, path := range []string{s.path(claim), s.path(claim) + ".tmp"} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the CDI spec %s: %w; check that --cdi-root is writable", path, cause(err))
		}
	}
	return nil
}

// render returns the file's content: valid, and the same for the same step and
// driver.
func (s *Specs) render(step sharing.WriteSpec, facts sharing.Facts) ([]byte, error) {
	e, err := s.edited(step.Devices)
	if err != nil {
		return nil, err
	}
	spec := &specs.Spec{Kind: vendor + "/" + class, ContainerEdits: e.common}
	for _, d := range step.Devices {
		if err := parser.ValidateDeviceName(d.Name); err != nil {
			return nil, api.Errorf(api.Internal, "CDI device name %q: %w", d.Name, err)
		}
		edits := e.gpus[d.UUID].edits
		// A partition that is not there has no nodes of its own. Only who watches it
		// gets that far.
		if fact, ok := facts[d.Slot]; ok && d.Slot != "" {
			if edits, err = s.withCapabilities(edits, e.gpus[d.UUID].minor, fact); err != nil {
				return nil, err
			}
		}
		edits = s.asClient(edits, d)
		if edits, err = withShare(edits, d, e.gpus[d.UUID].limits); err != nil {
			return nil, err
		}
		notes, err := annotations(d, facts)
		if err != nil {
			return nil, err
		}
		spec.Devices = append(spec.Devices, specs.Device{Name: d.Name, ContainerEdits: edits, Annotations: notes})
	}
	if spec.Version, err = specs.MinimumRequiredVersion(spec); err != nil {
		return nil, fmt.Errorf("find the CDI version: %w", err)
	}
	out, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

// cause strips the path that the caller's sentence names already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
