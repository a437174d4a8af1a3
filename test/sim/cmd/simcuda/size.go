// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cotenant-dev/cotenant/test/sim/mps"
)

// parseSize reads a whole number of Mi or Gi.
func parseSize(text string) (miB uint64, err error) {
	if text == "0" {
		return 0, nil
	}
	for suffix, unit := range map[string]uint64{"Mi": 1, "Gi": 1024} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			v, err := strconv.ParseUint(n, 10, 32)
			if err == nil {
				return v * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("size %q: want a whole number of Mi or Gi, such as 512Mi", text)
}

// parseLimit reads a size as CUDA_MPS_PINNED_DEVICE_MEM_LIMIT has them: 1G, 512MB.
func parseLimit(text string) (miB uint64, err error) {
	return mps.ParseMemory(strings.TrimSuffix(text, "B"))
}
