// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package containerd holds no code. Its module pins, by tool directives, the
// release of containerd that test nodes run, so that its sums are verified like
// those of any other module: containerd, containerd-shim-runc-v2 and ctr.
//
// It is a module of its own, because containerd, Kubernetes and Helm ask for
// different releases of the same modules.
package containerd
