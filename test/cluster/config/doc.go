// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package config renders the command lines and files with which the daemons of a
// test cluster are started. It is pure: values in, text out.
//
// Invariants: every path a daemon writes to is inside the run directory or
// inside the node's own file system; no daemon listens on an address outside
// loopback or the cluster's network namespace.
//
// It may be imported by package run and the main program.
package config
