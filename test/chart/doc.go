// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart holds the tests of the Helm chart. They render it as Helm does
// and look at the objects that a cluster would get; nothing imports it.
package chart
