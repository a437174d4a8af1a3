// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// upstreamClaims returns the claims that the upstream driver's checkpoint still
// holds, as "namespace/name" where it kept those and as UIDs where not. While
// there are any, its containers use GPUs that our journal knows nothing about.
func upstreamClaims(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the upstream driver's checkpoint: %w", err)
	}
	type claims struct {
		PreparedClaims map[string]struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"preparedClaims"`
	}
	var file struct {
		V1 claims `json:"v1"`
		V2 claims `json:"v2"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("the upstream driver's checkpoint %s cannot be read (%w); drain this node, then delete the file", path, err)
	}
	found := map[string]bool{}
	for _, version := range []claims{file.V1, file.V2} {
		for uid, c := range version.PreparedClaims {
			if c.Name != "" {
				uid = c.Namespace + "/" + c.Name
			}
			found[uid] = true
		}
	}
	var out []string
	for name := range found {
		out = append(out, name)
	}
	slices.Sort(out)
	return out, nil
}

// standDown says why nothing is published on this node, or "": somebody else
// hands out its GPUs.
func standDown(checkpoint string, advertised int64) string {
	if advertised > 0 {
		return fmt.Sprintf("the device plugin still advertises %d nvidia.com/gpu on this node; remove it from the node first", advertised)
	}
	claims, err := upstreamClaims(checkpoint)
	if err != nil {
		return err.Error()
	}
	if len(claims) > 0 {
		return fmt.Sprintf("the upstream driver's checkpoint %s holds %d claims (%s); drain this node first, then delete the file", checkpoint, len(claims), strings.Join(claims, ", "))
	}
	return ""
}
