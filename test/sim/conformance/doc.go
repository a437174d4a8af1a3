// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance says, as tests, what an NVML on the simulated machine
// must do: one table of behaviours, run on every form the machine has. What
// the in-process interface and the C library both pass cannot differ between
// a unit test and the end-to-end suite.
//
// A case uses nvml.Interface alone to ask and sim.Machine alone to act on the
// hardware, so it can also be read as a description of the real library; where
// the real one was never seen to do so, the case says "unproven".
//
// Only tests import it.
package conformance
