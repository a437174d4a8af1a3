// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package defaults creates the classes and the policy that a cluster starts
// with, each exactly once, so that an admin may change or delete them for good.
//
// The record of what was created is a ConfigMap. It says of each object first
// that it is meant to be created, and then that it was; between the two the
// object is created with a finalizer of ours. So whatever instant the controller
// dies at, the next start can tell the object that was never created from the
// one that somebody deleted meanwhile: the latter is still there, with the
// finalizer. The finalizer is taken off once the record says "created".
//
// An object of that name that is there already is somebody's, and counts as
// created. Deleting the ConfigMap asks for the defaults again.
//
// It imports api, api/v1alpha1 and Kubernetes; package controller alone imports
// it.
package defaults
