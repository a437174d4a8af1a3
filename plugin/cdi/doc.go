// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package cdi writes the Container Device Interface specs that give a container
// its GPUs: one file a claim, of the kind k8s.gpu.nvidia.com/claim.
//
// What a GPU needs in a container is worked out by NVIDIA's nvcdi library and
// kept until the driver is loaded anew. Three things are ours:
// NVIDIA_VISIBLE_DEVICES is always "void", so that a runtime that honours the
// variable adds nothing; the hook that obeys memory limits which a pod author may set
// is left out, except where both of its variables are written for a share; and so are
// host sockets and MPS binaries. The clients of an MPS daemon of ours get its pipe and
// shared memory, and containers on a share are told what it is.
//
// Annotations of a device tell what was done for it, so that it can be taken back when
// the journal is lost.
//
// A file is written under another name and renamed, so the runtime never reads
// half of one. It is JSON, which every YAML parser reads, in a file that keeps
// the name the upstream driver gives it.
//
// It may import api, mig, sharing, nvcdi and the CDI libraries.
package cdi
