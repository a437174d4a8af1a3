// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package allocation tests what is published against the allocator of Kubernetes:
// whatever happens on a node, it never hands out one piece of silicon twice.
package allocation
