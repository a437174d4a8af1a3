// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package mps is NVIDIA's Multi-Process Service on the simulated machine: the
// control daemon, the servers that it starts, and how a CUDA client and the
// command line reach them.
//
// A supervisor of MPS daemons must be shown to cope with what real ones do: they
// come up late or not at all, leave their socket behind when they are killed,
// forget their settings, keep a second user waiting, and fail all clients for the
// fault of one. So the daemon and each server are processes of their own, with the
// files, commands and words of the real ones. What they say to each other, and to
// clients, is this package's own.
//
//	<pipe>/control                      everybody's way in: commands, and clients
//	<pipe>/nvidia-cuda-mps-control.pid  of the daemon
//	<pipe>/nvidia-cuda-mps-server.PID   where the clients of one server talk to it
//	<log>/control.log, <log>/server.log
//
// Invariants: a daemon has one server at a time; what is set as a default reaches
// the next server alone; a server holds its devices as a client of the machine,
// and its own clients' contexts are in its entry, so that all are gone when it is.
//
// Only the programs under test/sim/cmd and tests import it.
package mps
