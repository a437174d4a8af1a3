// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package classes is the loop that turns GPUClasses, and the offers of
// SharingPolicies that name them, into DeviceClasses.
//
// A DeviceClass is one CEL expression and no config: the driver, and then one of
// (shape && the device's policy in [policies that offer this shape]). What a
// device is stands on the device; a class only selects. So nothing that a claim
// copies from its class can ever disagree with the node.
//
// Everything is decided at once, from all classes, all policies and all
// DeviceClasses: one name may stand in many of them. gather.go reads, plan.go
// and what it calls decides with values only, write.go writes. Nothing is
// written when nothing changed.
//
// Invariants:
//
//   - A DeviceClass that does not carry our marker is never changed or deleted,
//     and none gets the marker but by being created with it.
//   - No two DeviceClasses of ours have one extended resource name, not for a
//     moment: after either is deleted the scheduler forgets the name. The old one
//     is gone before the new one is created.
//   - The finalizer is on a GPUClass before its DeviceClass exists, and goes
//     after it.
//   - An expression never fails on a device that lacks an attribute: such a
//     failure ends the scheduling of the pod, in the whole cluster.
//
// It imports api, api/v1alpha1 and Kubernetes; package controller alone imports
// it.
package classes
