// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package build makes everything a test cluster runs, from Go modules and
// Debian packages, into one output directory. No binary is downloaded.
//
// Layout of the output directory (Output):
//
//	bin/            containerd, its shim, ctr, kubectl, helm, pause, image
//	images/         image tarballs that every node is given
//	<version>/kube  etcd and Kubernetes of that version; src/ beside it is the
//	                derived module, where the version is not the committed one
//	run/<name>/     a running cluster; package run's
//
// Beside each product lies a stamp: the hash of what it was made from. A product
// whose stamp agrees is not made again.
package build
