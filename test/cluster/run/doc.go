// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package run starts, changes and stops test clusters.
//
// A cluster is a network namespace, held by a gateway process, in which the
// control plane runs; and for each node a mount namespace, held by a process of
// its own, in which that node's containerd and kubelet run. Nothing of either is
// mounted in the machine's own namespace: a namespace goes with its last
// process, so killing the processes removes every mount and every interface.
//
// What a cluster should be is written in cluster.json in its run directory. What
// it is, is read from /proc each time (package machine); there are no pid files.
// Up makes the second agree with the first, and Down removes both.
//
// Invariants: one command at a time works on a cluster (a lock beside the run
// directory); a command that fails to start something leaves nothing of it.
//
// Only the main program imports it.
package run
