// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a real Kubernetes on one Linux machine without a
// container engine: etcd, API server, controller manager and scheduler, and any
// number of nodes with kubelet, containerd and runc, of a chosen version, all
// compiled from Go modules. See README.md.
//
// It is a module of its own, so that none of what it needs reaches the modules
// that ship. Nothing imports it; tests drive its command line.
//
//	build   makes the programs and images        (imports nothing of the rest)
//	config  renders what daemons are started with (pure)
//	pki     makes keys and certificates           (in memory)
//	machine is Linux: processes, namespaces, mounts, control groups
//	run     starts, changes and stops clusters    (imports all of them)
package main
