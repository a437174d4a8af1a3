// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodes sums up what the nodes report into the status of each
// SharingPolicy: how many nodes it selects, and on how many of them another
// policy owns every GPU it is about.
//
// The figures are written when they change, and at most once a minute for a
// policy: every node plugin watches policies, and a rollout over thousands of
// nodes changes them thousands of times.
//
// It may import api, controller-runtime and client-go.
package nodes
