// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package fsroot makes a directory look as a Tree says: directories, files,
// links and character devices.
//
// The driver of a real machine shows its state in dev, proc and sys; the
// simulated machine renders its own there. A tree is computed from the state
// as a value, and Sync makes the directory equal to it, touching only what
// differs, so that a watcher sees one change where one thing changed.
//
// Invariants: each path changes by a rename, never half-written; what is not
// in the tree is removed; a Sync killed at any instant is completed by the
// next; the inode of a fresh directory is never used again while the machine exists.
//
// Only package sim imports it.
package fsroot
