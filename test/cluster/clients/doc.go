// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package clients holds no code. Its module pins what users type at a cluster:
// kubectl, whose main is in ./kubectl because Kubernetes publishes the command
// as a library only, and helm, by a tool directive.
//
// Both are built once and used with every Kubernetes version: kubectl's support
// reaches one minor release either way, and what tests use of it is older.
package clients
