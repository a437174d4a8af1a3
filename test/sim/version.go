// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import "fmt"

// atLeast reports whether a CUDA version that Create accepted is major.minor or newer.
func atLeast(cuda string, major, minor int) bool {
	var x, y int
	if _, err := fmt.Sscanf(cuda, "%d.%d", &x, &y); err != nil {
		return false
	}
	return x > major || x == major && y >= minor
}
