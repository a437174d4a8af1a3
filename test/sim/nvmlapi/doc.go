// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvmlapi is the simulated machine as go-nvml's Go interface, in the
// process of the caller.
//
// It exists so that what stands on nvml.Interface (the node plugin's adapter,
// go-nvlib, nvcdi) runs unmodified on a machine without a GPU, under the race
// detector. Each answer is read from the machine's directory at the moment of
// the call; the package keeps the session (the reference count of Init and the
// driver load it belongs to) and the registrations of event sets, as the real
// library keeps them per process.
//
// Invariants: every method of the interface answers; those that no consumer
// needs answer NOT_SUPPORTED. A call checks, in this order: is the symbol in
// a library of this driver version (a missing one ends the real process, so
// it panics here), does a fault strike, is the library initialised, is the
// GPU there, is it lost.
//
// The methods named …V that return a handler (GetGpuFabricInfoV and others)
// are the exception: go-nvml's handlers call the C library directly and
// cannot be simulated behind an interface. Ask for them through the C library.
package nvmlapi

//go:generate go run ./gen
