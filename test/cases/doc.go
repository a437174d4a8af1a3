// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package cases plays situations that broke real drivers, each from its source,
// against the node plugin as the kubelet sees it: claims go in over the plugin's
// own sockets, a simulated node comes out. Each test is named after its case.
package cases
