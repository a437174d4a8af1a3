// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package mig is the geometry of Multi-Instance GPU: profiles, placements, what
// fits beside what, and the order in which placements are best offered.
//
// It is pure: values in, values out. It may import api and nothing else of
// ours. This release publishes whole GPUs only, so the room is laid out but
// holds no geometry yet.
package mig
