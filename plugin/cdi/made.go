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
	"github.com/cotenant-dev/cotenant/mig"
	"github.com/cotenant-dev/cotenant/sharing"
)

// madeKey is the annotation of a CDI device for which a partition was made. With
// it the file tells what there is to take back when the journal is lost.
const madeKey = api.Group + "/made"

// made is its value.
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

// annotations are those of a device.
func annotations(d sharing.SpecDevice, facts sharing.Facts) (map[string]string, error) {
	f, known := facts[d.Slot]
	if d.Made == nil || !known {
		return nil, nil
	}
	raw, err := json.Marshal(made{
		Slot: d.Slot, Address: d.Address, Profile: d.Made.Profile, Start: d.Made.Start, Size: d.Made.Size,
		GI: f.GI, CI: f.CI, UUID: f.UUID,
	})
	return map[string]string{madeKey: string(raw)}, err
}

// Made returns the partitions that were made for a claim, as its file tells. A
// claim without a file has none.
func (s *Specs) Made(claim string) ([]sharing.Made, error) {
	path := s.path(claim)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the CDI spec: %w", err)
	}
	var spec specs.Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, fmt.Errorf("read the CDI spec %s: %w", path, err)
	}
	var out []sharing.Made
	for _, d := range spec.Devices {
		note, ok := d.Annotations[madeKey]
		if !ok {
			continue
		}
		var m made
		if err := json.Unmarshal([]byte(note), &m); err != nil {
			return nil, fmt.Errorf("read the annotation of %s in the CDI spec %s: %w", d.Name, path, err)
		}
		out = append(out, sharing.Made{
			Place: sharing.Place{Slot: m.Slot, Address: m.Address, Partition: mig.Partition{
				Profile: m.Profile, Placement: mig.Placement{Start: m.Start, Size: m.Size}}},
			Fact: sharing.Fact{GI: m.GI, CI: m.CI, UUID: m.UUID},
		})
	}
	return out, nil
}
