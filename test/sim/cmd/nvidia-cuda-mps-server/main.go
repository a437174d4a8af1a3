// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command nvidia-cuda-mps-server is a stand-in for NVIDIA's MPS server on the
// simulated machine. nvidia-cuda-mps-control starts it; see package mps.
package main

import (
	"fmt"
	"os"

	"github.com/cotenant-dev/cotenant/test/sim/mps"
)

func main() {
	if err := mps.Server(); err != nil {
		fmt.Fprintln(os.Stderr, "nvidia-cuda-mps-server (simulated):", err)
		os.Exit(1)
	}
}
