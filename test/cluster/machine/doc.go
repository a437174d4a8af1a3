// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package machine is what the orchestrator needs of Linux: processes,
// namespaces, mounts, control groups and locks.
//
// Nothing here keeps a record. Which processes belong to a cluster is read from
// /proc, where each carries the cluster's run directory in its environment
// (Mark); so a cluster that was half started, or whose files were removed by
// hand, can still be stopped completely, and a process of anybody else cannot be
// stopped by mistake.
//
// It knows no Kubernetes; package run does, and is the only importer besides the
// main program.
package machine
