// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command libnvidia-ml is the simulated machine as NVIDIA's C library: built
// as a shared object, it is the libnvidia-ml.so.1 that an unmodified program
// loads.
//
//	go build -buildmode=c-shared \
//	  -ldflags '-extldflags "-Wl,-soname,libnvidia-ml.so.1"' \
//	  -o libnvidia-ml.so.1 ./test/sim/cmd/libnvidia-ml
//
// It adds to package nvmlapi what only C has: handles that are addresses,
// buffers that may be too small, version words in structures. The machine is
// the directory in COTENANT_SIM_STATE, or /run/cotenant-sim, read at each
// first nvmlInit.
//
// Invariants: every function that NVML's header declares or go-nvml calls is
// there, since a missing one ends the caller's process; what this package does
// not answer, zz_stubs.c refuses through it. No Go pointer leaves the package:
// handles are allocated by C and never freed, so a stale one is recognised.
package main

//go:generate go run ./gen
