// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/cotenant-dev/cotenant/api"
	"github.com/cotenant-dev/cotenant/api/nvidia"
	"github.com/cotenant-dev/cotenant/api/v1alpha1"
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// The annotations of a CDI device tell what was done for it, so that there is
// something to take it back by when the journal is lost: a partition that was made,
// and what was changed of a GPU.
const (
	madeKey    = api.Group + "/made"
	changedKey = api.Group + "/changed"
)

type made struct {
	Slot    string `json:"slot"`
	Address string `json:"address"`
	Profile int    `json:"profile"`
	Start   int    `json:"start"`
	Size    int    `json:"size"`
	GI      int    `json:"gi"`
	CI      int    `json:"ci"`
	UUID    string `json:"uuid"`
}

type changed struct {
	Address     string  `json:"address"`
	UUID        string  `json:"uuid"`
	Slot        string  `json:"slot,omitempty"`
	Shared      *shared `json:"shared,omitempty"`
	Daemon      string  `json:"daemon,omitempty"`
	ComputeMode *string `json:"computeModeWas,omitempty"`
	Interval    *string `json:"timeSliceWas,omitempty"`
}

type shared struct {
	Offer         string `json:"offer"`
	Mode          string `json:"mode"`
	Shares        int    `json:"shares"`
	MemoryMiB     int64  `json:"memoryMiB,omitempty"`
	ActiveThreads int    `json:"activeThreads,omitempty"`
	Interval      string `json:"interval,omitempty"`
	Memory        string `json:"memoryLimit"`
}

// annotations are those of a device.
func annotations(d sharing.SpecDevice, facts sharing.Facts) (map[string]string, error) {
	out := map[string]string{}
	note := func(key string, v any) error {
		raw, err := json.Marshal(v)
		out[key] = string(raw)
		return err
	}
	if f, known := facts[d.Slot]; d.Made != nil && known {
		err := note(madeKey, made{
			Slot: d.Slot, Address: d.Address, Profile: d.Made.Profile, Start: d.Made.Start, Size: d.Made.Size,
			GI: f.GI, CI: f.CI, UUID: f.UUID,
		})
		if err != nil {
			return nil, err
		}
	}
	c := changed{Address: d.Address, UUID: d.UUID, Daemon: d.Daemon}
	if was, ok := facts.ComputeMode(d.Address); ok {
		c.ComputeMode = new(string(was))
	}
	if was, ok := facts.Interval(d.Address); ok {
		c.Interval = new(string(was))
	}
	if s := d.Shared; s != nil {
		c.Slot = d.Slot
		c.Shared = &shared{
			Offer: s.Offer, Mode: string(s.Mode), Shares: s.Shares, MemoryMiB: s.MemoryMiB,
			ActiveThreads: s.ActiveThreads, Interval: string(s.Interval), Memory: string(s.Memory),
		}
	}
	if c.Daemon != "" || c.ComputeMode != nil || c.Interval != nil || c.Shared != nil {
		if err := note(changedKey, c); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// Trace returns what was done for a claim, as its file tells. A claim without a file
// has nothing.
func (s *Specs) Trace(claim string) (sharing.Trace, error) {
	var t sharing.Trace
	path := s.path(claim)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("read the CDI spec: %w", err)
	}
	var spec specs.Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return t, fmt.Errorf("read the CDI spec %s: %w", path, err)
	}
	for _, d := range spec.Devices {
		if note, ok := d.Annotations[madeKey]; ok {
			var m made
			if err := json.Unmarshal([]byte(note), &m); err != nil {
				return sharing.Trace{}, fmt.Errorf("read the annotation of %s in the CDI spec %s: %w", d.Name, path, err)
			}
			t.Made = append(t.Made, m.decode())
		}
		if note, ok := d.Annotations[changedKey]; ok {
			var c changed
			if err := json.Unmarshal([]byte(note), &c); err != nil {
				return sharing.Trace{}, fmt.Errorf("read the annotation of %s in the CDI spec %s: %w", d.Name, path, err)
			}
			t.Changed = append(t.Changed, c.decode())
		}
	}
	return t, nil
}

func (m made) decode() sharing.Made {
	return sharing.Made{
		Place: sharing.Place{Slot: m.Slot, Address: m.Address, Partition: mig.Partition{
			Profile: m.Profile, Placement: mig.Placement{Start: m.Start, Size: m.Size}}},
		Fact: sharing.Fact{GI: m.GI, CI: m.CI, UUID: m.UUID},
	}
}

func (c changed) decode() sharing.Changed {
	out := sharing.Changed{Setting: sharing.Setting{Slot: c.Slot, Address: c.Address}, UUID: c.UUID, Daemon: c.Daemon}
	if c.ComputeMode != nil {
		out.ComputeMode = new(sharing.ComputeMode(*c.ComputeMode))
	}
	if c.Interval != nil {
		out.Interval = new(nvidia.Interval(*c.Interval))
	}
	if s := c.Shared; s != nil {
		out.Shared = &sharing.Shared{
			Offer: s.Offer, Mode: v1alpha1.SharingMode(s.Mode), Shares: s.Shares, MemoryMiB: s.MemoryMiB,
			ActiveThreads: s.ActiveThreads, Interval: nvidia.Interval(s.Interval), Memory: sharing.MemoryLimit(s.Memory),
		}
	}
	return out
}
