// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package api holds the names that the parts of Cotenant share with each other
// and with the world: the driver, the pool, taint keys, CDI kinds, and the
// closed set of reasons an operation can fail for.
//
// It is pure: no clock, no operating system, no client. Everything may import
// it; it imports nothing of ours.
package api
