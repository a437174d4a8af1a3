// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 has the kinds that an admin writes: SharingPolicy, what the
// GPUs of some nodes may become, and GPUClass, who may use them.
//
// Validation is in the schema, so that kubectl apply refuses with the field. The
// CRDs in deploy/helm/cotenant/crds are generated from here.
//
// +kubebuilder:object:generate=true
// +groupName=cotenant.dev
package v1alpha1
