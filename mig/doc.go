// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package mig is the geometry of Multi-Instance GPU: profiles, placements, what
// fits beside what, the counters that say so to a scheduler, and the order in
// which placements are best offered.
//
// Everything is computed from the profiles that the driver reports for a GPU.
// There is no table of products here, and no assumption about how many
// placement units or compute slices a GPU has.
//
// It is pure: values in, values out. It may import api and nothing else of
// ours.
package mig
