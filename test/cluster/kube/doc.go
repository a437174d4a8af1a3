// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Command kube is etcd and the four Kubernetes daemons a cluster needs, in one
// program: `kube etcd`, `kube kube-apiserver`, `kube kube-controller-manager`,
// `kube kube-scheduler` and `kube kubelet`, each with the flags of the original
// (etcd with the few this project uses).
//
// One program, because the five share nearly all of their code: linking it once
// takes a fifth of the time and of the disk.
//
// It is a module of its own, because k8s.io/kubernetes can only be imported by
// a module that replaces every k8s.io module by the matching release, and
// nothing else here should be bound to that. The builder in ../build derives the
// same module for other Kubernetes versions by editing go.mod alone, so the
// code here keeps to what all supported versions have.
//
// Invariant: only the command that was asked for is constructed. Each
// constructor registers the process's signal handler, and a second registration
// panics.
package main
