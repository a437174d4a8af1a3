// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package mig tests partitions on a real cluster: two nodes with simulated GPUs
// that can be partitioned, and the chart with the walkthrough's values.
package mig
