// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e holds the end-to-end tests: the Helm chart on a real control
// plane, kubelet, containerd and runc, with simulated GPUs. They carry the build
// tag e2e and need root and what `make lab` builds.
package e2e
