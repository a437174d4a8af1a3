// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/cotenant-dev/cotenant/test/sim"
	"github.com/cotenant-dev/cotenant/test/sim/conformance"
	"github.com/cotenant-dev/cotenant/test/sim/nvmlapi"
)

// TestInProcess needs root for the behaviours that change a GPU; the library
// is told so, since it changes files of the test alone.
func TestInProcess(t *testing.T) {
	conformance.Run(t, func(_ *testing.T, m *sim.Machine) nvml.Interface { return nvmlapi.New(m, nvmlapi.AsUser(0)) })
}
