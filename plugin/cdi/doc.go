// SPDX-FileCopyrightText: The Cotenant Authors
// SPDX-License-Identifier: Apache-2.0

// Package cdi writes the Container Device Interface specs that give a container
// its GPUs: one file a claim, of the kind k8s.gpu.nvidia.com/claim.
//
// What a GPU needs in a container is worked out by NVIDIA's nvcdi library and
// kept until the driver is loaded anew. Three things are ours:
// NVIDIA_VISIBLE_DEVICES is always "void", so that a runtime that honours the
// variable adds nothing; the hook that lets a pod author set memory limits on
// the GPU is left out; and so are host sockets and MPS binaries.
//
// A file is written under another name and renamed, so the runtime never reads
// half of one. It is JSON, which every YAML parser reads, in a file that keeps
// the name the upstream driver gives it.
//
// It may import api, mig, sharing, nvcdi and the CDI libraries.
package cdi
