// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin is the node: it observes the GPUs, publishes what they may
// become, and prepares and unprepares claims.
//
// A claim goes through one pipeline (prepare.go, unprepare.go): decode, recall,
// settle, acquire, begin, run, end. The runner (run.go) is the only loop that
// touches the world; every step is in the journal before it runs, and the only
// undo (settle.go) reads it from there. Unprepare, a retry and a restart share
// it.
//
// The package declares the interfaces it consumes (seams.go) and never imports
// its adapters, the packages below it. It may import api, mig, sharing and the
// Kubernetes libraries.
package plugin
