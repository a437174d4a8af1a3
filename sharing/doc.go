// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package sharing is the mind of the node: which devices a GPU is published as,
// what must change before a claim may run ([Acquire]), what is undone when it
// ends ([Release]), and what makes journal and world agree again ([Recover]).
//
// It is pure: values in, values out; time is an argument. Our files here import
// no context, clock, operating system, client, NVML or logging, only the
// Kubernetes API types that a published device is made of. It may import api
// and mig.
//
// The invariant it keeps: no two claims hold overlapping hardware, whatever the
// scheduler said. Admin-access claims see devices and never change them, so
// they overlap with everybody.
package sharing
