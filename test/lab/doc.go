// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package lab is a whole cluster on this machine with simulated GPUs in it, for
// the demo, the end-to-end tests and the benchmarks. It runs the programs that
// `make lab` built and never builds anything itself.
package lab
