// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs the MPS control daemons of a node: one for each shared
// slot, or for the devices of a claim, that the node plugin wants.
//
// A daemon has a directory below the root, <root>/<id>, with two tmpfs of its own:
// shm and pipe, which its clients have at /dev/shm and /tmp/nvidia-mps, and which
// it has there itself, in a mount namespace of its own (enter.go). Containers have
// both bind-mounted, so their inodes stay the same for as long as the daemon is
// wanted, whoever dies meanwhile.
//
// Each daemon is owned by one goroutine (daemon.go), the only one that touches its
// directories and processes. It goes from phase to phase: start, serve, rest,
// stuck, held. Others leave it asks and read what it shows. No lock is held over
// a wait, so a daemon that never comes up delays no other.
//
// What is wanted is in a state file in the root, written before anything is begun.
// Processes are found by a variable in their environment, so that none is
// forgotten that a dead supervisor had started a moment before.
//
// What a daemon answers is as trustworthy as its clients, since the pipe directory
// is theirs to write: answers are read strictly, bounded in length and time, and
// never followed to a path.
//
// Some of what is relied upon was read in manuals and not seen on hardware; it is
// in answer.go and program.go, and nowhere else.
package supervisor
